import { spawnSync } from 'node:child_process';
import { constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { lineWriter } from '../../src/platform/log-output.ts';

const MODULE = new URL('../../src/platform/log.ts', import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), 'log-'));
afterAll(() => rmSync(folder, { recursive: true }));

const lines = Array.from({ length: 2_000 }, (_, at) => `${at} é${'x'.repeat(990)}\n`);

/** Opens a pipe with room for 64 KB. Its writer does not wait, and its reader reads only when it is asked to. */
function openPipe(name: string) {
  const path = join(folder, name);
  spawnSync('mkfifo', [path]);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  let retry = () => {};
  const write = lineWriter(fd, {
    after: (_ms, callback) => {
      retry = callback;
      return () => {};
    },
  });
  const parts: Buffer[] = [];
  const read = () => {
    const bytes = Buffer.alloc(100_000);
    try {
      parts.push(bytes.subarray(0, readSync(fd, bytes)));
      return true;
    } catch {
      return false;
    }
  };
  return { write, read, retry: () => retry(), text: () => Buffer.concat(parts).toString() };
}

test('the log writes the lines that a slow reader delayed with the next lines, each once and in order', () => {
  const pipe = openPipe('slow');
  const some = lines.slice(0, 500);
  for (const line of some) pipe.write(line);
  const later = Array.from({ length: 10 }, (_, at) => `later ${at}\n`);
  for (const line of later) {
    pipe.read();
    pipe.write(line);
  }
  pipe.read();
  expect(pipe.text()).toBe([...some, ...later].join(''));
});

test('the log writes the lines that a slow reader delayed without a further line', () => {
  const pipe = openPipe('idle');
  const some = lines.slice(0, 500);
  for (const line of some) pipe.write(line);
  while (pipe.read()) pipe.retry();
  expect(pipe.text()).toBe(some.join(''));
});

test('the log keeps the first megabyte of the lines for a reader that has stopped, and continues after it', () => {
  const pipe = openPipe('stopped');
  for (const line of lines) pipe.write(line);
  while (pipe.read()) pipe.retry();
  expect(pipe.text().length).toBeGreaterThan(1_000_000);
  expect(pipe.text().length).toBeLessThan(1_100_000);
  expect(lines.join('').startsWith(pipe.text())).toBe(true);
  expect(pipe.text().endsWith('\n')).toBe(true);
  pipe.write('last\n');
  pipe.read();
  expect(pipe.text()).toMatch(/x\nlast\n$/);
});

test('the log tries again once a second while nothing can be written, and not more often for further lines', () => {
  const timers: { ms: number; callback: () => void }[] = [];
  const after = (ms: number, callback: () => void) => {
    timers.push({ ms, callback });
    return () => {};
  };
  const write = lineWriter(openSync('/dev/full', 'w'), { after });
  for (let second = 1; second <= 3; second += 1) {
    for (const line of lines.slice(0, 3)) write(line);
    expect(timers.map(({ ms }) => ms)).toEqual([1_000]);
    timers.shift()?.callback();
  }
});

test('the log survives a full disk', () => {
  const write = lineWriter(openSync('/dev/full', 'w'), { after: () => () => {} });
  for (const line of lines) write(line);
});

test('the log contains every line that was logged before the process is killed', () => {
  const script = `const { openLog } = await import('${MODULE}');
    const log = openLog('info');
    log.info('the first');
    log.info('the last');
    process.kill(process.pid, 'SIGKILL');`;
  const argv = ['--input-type=module', '-e', script];
  const { stdout } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
  const logged = stdout.trim().split('\n');
  expect(logged.map((line) => JSON.parse(line).msg)).toEqual(['the first', 'the last']);
});
