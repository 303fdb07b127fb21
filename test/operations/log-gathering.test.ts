import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { gatherLines } from '../../src/operations/log.ts';

const MODULE = new URL('../../src/operations/log.ts', import.meta.url).href;

/** What arrives, and a timer that rings when the test says so. */
function gathering() {
  const written: string[] = [];
  let ring = () => {};
  const lines = gatherLines(
    { write: (text) => void written.push(text) },
    {
      after: (_ms, callback) => {
        ring = callback;
        return () => {
          ring = () => {};
        };
      },
    },
  );
  const write = (level: number, line: string) => {
    lines.lastLevel = level;
    lines.write(line);
  };
  return { written, write, flush: lines.flush, ring: () => ring() };
}

describe('log lines', () => {
  test('of a few milliseconds are written together, in their order', () => {
    const { written, write, ring } = gathering();
    write(30, 'one\n');
    write(30, 'two\n');
    expect(written).toEqual([]);
    ring();
    expect(written).toEqual(['one\ntwo\n']);
    write(30, 'three\n');
    ring();
    expect(written).toEqual(['one\ntwo\n', 'three\n']);
  });

  test('from a warning on are written at once, with those that waited', () => {
    const { written, write, ring } = gathering();
    write(30, 'one\n');
    write(40, 'a warning\n');
    expect(written).toEqual(['one\na warning\n']);
    write(60, 'fatal\n');
    expect(written).toEqual(['one\na warning\n', 'fatal\n']);
    ring();
    expect(written).toHaveLength(2);
  });

  test('never wait for more than a driver of containers reads at once', () => {
    const { written, write } = gathering();
    const line = `${'x'.repeat(999)}\n`;
    for (let count = 0; count < 17; count += 1) write(30, line);
    expect(written).toEqual([line.repeat(17)]);
  });

  test('that still wait are written when the process exits, also from an error of its own', () => {
    for (const end of ['process.exit(3)', 'throw new Error("unexpected")', '']) {
      const script = `const { openLog } = await import('${MODULE}');
        const log = openLog('info');
        log.info('the first');
        log.info('the last');
        ${end}`;
      const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
        encoding: 'utf8',
      });
      const said = stdout.trim().split('\n');
      expect(said.map((line) => JSON.parse(line).msg)).toEqual(['the first', 'the last']);
    }
  });
});
