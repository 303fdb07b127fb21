import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digestOfToken } from '../../src/credentials/file.ts';
import { temporaryFolder } from '../support/process.ts';
import { ranToTheEnd } from '../support/ran.ts';

const program = join(import.meta.dirname, 'prepare.ts');

test.each([1, 2, 3])('four first starts at once use the same keys and the same token, round %i', async () => {
  const dataDir = temporaryFolder();
  const at = String(Date.now() + 2500);
  const starts = [1, 2, 3, 4].map(() =>
    ranToTheEnd(spawn(process.execPath, [program, dataDir, at], { stdio: ['ignore', 'pipe', 'pipe'] })),
  );
  const ran = await Promise.all(starts);
  expect(ran.map(({ status, stderr }) => [status, stderr])).toEqual(Array(4).fill([0, '']));
  const used = ran.map(({ stdout }) => JSON.parse(stdout));
  const { token, key } = used[0];
  for (const each of used) expect(each).toEqual({ ...used[0], firstRun: expect.any(Boolean) });
  expect(used.some(({ firstRun }) => firstRun)).toBe(true);
  // No temporary file is left, and the files contain what the starts use.
  expect(readdirSync(dataDir).sort()).toEqual([
    'agent-token',
    'agents.json',
    'preview-signing-key',
    'receipt-signing-key',
  ]);
  expect(readFileSync(join(dataDir, 'preview-signing-key'), 'utf8').trim()).toBe(key);
  expect(readFileSync(join(dataDir, 'agents.json'), 'utf8')).toContain(digestOfToken(token.trim()));
});
