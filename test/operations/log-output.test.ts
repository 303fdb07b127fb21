import fs, { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { openOutput } from '../../src/operations/log.ts';

const folder = mkdtempSync(join(tmpdir(), 'log-'));

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

test('once a full disk has room again, the first lines of meanwhile are written, and all that follow', () => {
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
