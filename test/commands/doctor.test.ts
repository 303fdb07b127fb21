/** Whole runs of `npm run doctor`. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Finding } from '../../src/commands/doctor/check.ts';
import { atTerminal, runService, temporaryFolder } from './run-service.ts';

test('doctor reports no fault on a fresh machine, and leaves nothing in the database', async () => {
  const environment = { DATA_DIR: join(temporaryFolder(), 'data') };
  const { status, stdout } = await runService(['doctor', '--json'], { environment });
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
  const names = ['ok', 'off'].map((name) => findings.filter((one) => one.outcome === name).map(({ check }) => check));
  expect([status, ok, ...names]).toEqual([
    0,
    true,
    [
      ...['data folder', 'database', 'signing keys', 'receipt keys', 'credentials', 'site', 'operator', 'console'],
      ...['OAuth', 'rate limits', 'upstream', 'clock', 'mail', 'test message'],
    ],
    ['notices'],
  ]);
  const inbox = await runService(['inbox', 'list', '--json'], { environment });
  expect(inbox.stdout).toBe('');
  expect(readdirSync(environment.DATA_DIR).filter((name) => name.startsWith('.doctor'))).toEqual([]);
});

test('doctor prints good outcomes green and failures red on a terminal', async () => {
  const environment = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'a@x.example' };
  const { stdout } = await runService(['doctor', '--no-send'], { environment, nodeOptions: atTerminal('stdout') });
  expect(stdout).toContain('\u001B[32mok       \u001B[0mdatabase');
  expect(stdout).toContain('\u001B[31mfailed   \u001B[0mmail');
  expect(stdout).toMatch(/^off {6}notices/m);
});
