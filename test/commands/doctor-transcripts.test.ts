/** Whole output of the doctor, compared with the file `transcripts/doctor.txt`. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { clientOf } from '../credentials/credentials-file.ts';
import { newKey } from '../support/receipts.ts';
import { temporaryFolder } from './run-service.ts';
import { transcriptOf } from './transcript.ts';

vi.setConfig({ testTimeout: 60_000 });

const key = (letter: string) => Buffer.alloc(32, letter).toString('base64');

test('doctor prints what its record has', async () => {
  const folder = temporaryFolder();
  const data = join(folder, 'data');
  const write = (name: string, text: string, mode = 0o600) => writeFileSync(join(folder, name), text, { mode });
  const environment = { DATA_DIR: data };
  const production = 'NODE_ENV=production BASE_URL=https://paint.example';
  const crm = 'UPSTREAM_URL=http://crm.example/hook';
  const contractor = 'CONTRACTOR_ID=c-1 CONTRACTOR_NAME=Painters';
  const named = 'CONTRACTOR_SINCE=1998 OPERATOR_NAME="Paint Match" OPERATOR_CONTACT=hello@paint.example';
  const mail = 'SMTP_URL=smtp://127.0.0.1:1 MAIL_FROM=hello@paint.example';
  write('receipt-keys', newKey() + newKey());
  write('agents', JSON.stringify({ clients: [clientOf('acme', ['x']), clientOf('other', ['y'])] }));
  const files = 'RECEIPT_SIGNING_KEYS_FILE=receipt-keys AGENT_CREDENTIALS_FILE=agents';
  const notFound = await transcriptOf(folder, environment, [
    'doctor',
    'doctor --json --no-send',
    'NODE_ENV=production BASE_URL=http://paint.example TZ=Etc/Unknown doctor',
    `${production} ${crm} ${contractor} OPERATOR_CONSOLE=on OAUTH=off UPSTREAM_SECRET=whsec_c2hvcnRlciBrZXk= doctor --no-send`,
    `${production} ${crm} ${contractor} OPERATORS=jo@x.example OPERATOR_CONSOLE=off ${mail} doctor --no-send`,
    [
      ...[production, 'UPSTREAM_URL=http://127.0.0.1:1/hook', contractor, named, mail, files, 'TRUST_PROXY=127.0.0.1'],
      ...[`PREVIEW_SIGNING_KEYS=${key('a')},${key('b')}`, `UPSTREAM_SECRET=whsec_${key('c')}`],
      ...['OPERATORS=jo@x.example,ann@x.example NOTIFY_EMAIL=leads@x.example ALERT_EMAIL=faults@x.example'],
      'CONTRACTOR_EMAIL=owner@x.example ACKNOWLEDGE=on doctor',
    ].join(' '),
    'NODE_ENV=production BASE_URL=https://paint.example DATABASE_URL=postgres://127.0.0.1:1/none doctor',
    'NOTIFY_EMAIL=leads@x.example doctor --no-send',
    'ALERT_EMAIL=faults@x.example doctor --no-send',
    'OPERATORS=jo@x.example doctor --no-send',
  ]);

  (await openSqlite(join(data, 'service.db'), systemClock)).close();
  write('data/preview-signing-key', key('a'), 0o666);
  write('data/receipt-signing-key', newKey(), 0o666);
  write('data/agents.json', JSON.stringify({ clients: [clientOf('old', ['x', 'y'], [], '2021-01-01T00:00:00.000Z')] }));
  mkdirSync(join(folder, 'content'));
  write('content/words.yaml', '{}');
  for (const name of ['preview-signing-key', 'receipt-signing-key']) chmodSync(join(data, name), 0o666);
  const found = await transcriptOf(folder, environment, ['doctor', 'CONTENT_DIR=content doctor --no-send']);

  write('data/preview-signing-key', 'c2hvcnQ=');
  write('data/receipt-signing-key', 'canary');
  write('data/agents.json', '{"clients":3}');
  write('content/about.md', 'no front matter');
  write('data/service.db', 'this is not a database, but it is long enough to be read');
  write('file', '');
  const broken = await transcriptOf(folder, environment, ['CONTENT_DIR=content doctor', 'DATA_DIR=file doctor']);
  const text = `${notFound}\n${found}\n${broken}`.replace(/[\w-]{43}(?= signs)/g, 'KEY');
  await expect(text).toMatchFileSnapshot('transcripts/doctor.txt');
});
