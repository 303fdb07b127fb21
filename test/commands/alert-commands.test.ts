/** Runs the commands of each alert in a shell, exactly as the message spells them. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { AlertKind } from '../../src/notices/alert-kinds.ts';
import { alertMail } from '../../src/notices/alert-mail.ts';
import { startProcess, temporaryFolder } from '../support/process.ts';
import { project } from '../support/program.ts';

const kinds: Record<AlertKind, number> = {
  upstream: 2,
  given_up: 2,
  dead_message: 1,
  store: 1,
  disk: 2,
  reported: 2,
  expiring: 3,
};

let dataDir: string;

beforeAll(async () => {
  dataDir = join(temporaryFolder(), "it's here");
  mkdirSync(dataDir);
  await (await startProcess({ dataDir })).end();
});

test.each(Object.entries(kinds))('each command in the alert mail %s runs and exits with 0', (kind, count) => {
  const words = { timeOf: String, labelOf: String };
  const site = { operatorName: 'Paint Match', baseUrl: 'https://paint.example', dataDir, hasConsole: false, ...words };
  const about = { kind: kind as AlertKind, counted: { '': 1 }, over: false };
  const { text } = alertMail(about, site);
  const commands = text.split('\n').filter((line) => /^(?:npm run|df|du) /.test(line));
  expect(commands).toHaveLength(count);
  for (const command of commands) {
    const typed = command
      .replace(/^npm /, `DATA_DIR="$OURS" npm --prefix '${project}' `)
      .replace('revoke NAME', 'revoke sender --yes');
    const { status, stdout, stderr } = spawnSync('sh', ['-c', typed], {
      cwd: temporaryFolder(),
      encoding: 'utf8',
      env: { PATH: process.env.PATH, OURS: dataDir },
    });
    expect([command, status], stdout + stderr).toEqual([command, 0]);
  }
});
