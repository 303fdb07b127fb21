import { spawnSync } from 'node:child_process';
import fs, { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { openOutput } from '../../src/platform/log.ts';

const MODULE = new URL('../../src/platform/log.ts', import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), 'log-'));

afterEach(() => vi.restoreAllMocks());
afterAll(() => rmSync(folder, { recursive: true }));

test('the log writes the first lines that a full disk delayed once the disk has space, then all later lines', () => {
  const path = join(folder, 'log');
  const output = openOutput(path);
  output.write('before\n');
  const full = vi.spyOn(fs, 'writeSync').mockImplementation(() => {
    throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
  });
  const line = `${'x'.repeat(999)}\n`;
  for (let each = 0; each < 2_000; each += 1) output.write(`${each} ${line}`);
  full.mockRestore();
  output.write('after\n');
  output.write('last\n');
  const lines = readFileSync(path, 'utf8').split('\n');
  expect(lines.slice(0, 2)).toEqual(['before', `0 ${line.trim()}`]);
  expect(lines.slice(-2)).toEqual(['last', '']);
  expect(lines.length).toBeGreaterThan(900);
  expect(lines.length).toBeLessThan(1_100);
});

test('the log contains every line that was logged before the process is killed', () => {
  const script = `const { openLog } = await import('${MODULE}');
    const log = openLog('info');
    log.info('the first');
    log.info('the last');
    process.kill(process.pid, 'SIGKILL');`;
  const argv = ['--input-type=module', '-e', script];
  const { stdout } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
  const lines = stdout.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['the first', 'the last']);
});
