/**
 * Runs the command lines of the files in `transcripts`, and compares all that they print. `npx vitest run transcripts -u`
 * records a change.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { clientOf } from '../credentials/credentials-file.ts';
import { signedReceiptFile } from '../support/signed-receipt.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';
import { atTerminal, runService, temporaryFolder } from './run-service.ts';
import { expectTranscript, folderWith, id } from './transcript.ts';

vi.setConfig({ testTimeout: 60_000 });

test('credentials prints what its transcript has', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'agents.json');
  await expectTranscript('credentials', folder, { AGENT_CREDENTIALS_FILE: path });
  writeFileSync(path, JSON.stringify({ clients: [clientOf('old', ['x'], [], '2021-01-01T00:00:00.000Z')] }));
  await expectTranscript('credentials-expired', folder, { AGENT_CREDENTIALS_FILE: path });
});

test('subscribers prints what its transcripts have', async () => {
  const row = (number: number, status: 'pending' | 'confirmed' | 'unsubscribed') => ({
    ...{ id: id(number), email: `reader${number}@example.com`, contractor: 'direct', status, made_by: `s-${number}` },
    ...{ confirm_token: `c-${number}`, leave_token: `l-${number}`, created_at: `2026-09-0${number}T12:00:00.000Z` },
    consent_recorded_at: '2026-09-01T12:00:00.000Z',
    expires_at: status === 'pending' ? '2026-09-08T12:00:00.000Z' : null,
    confirmed_at: status === 'pending' ? null : '2026-09-01T13:00:00.000Z',
    unsubscribed_at: status === 'unsubscribed' ? '2026-09-02T12:00:00.000Z' : null,
  });
  const rows = [row(1, 'pending'), row(2, 'confirmed'), row(3, 'unsubscribed'), row(4, 'confirmed')];
  await expectTranscript('subscribers-empty', await folderWith(async () => {}));
  const folder = await folderWith((storage) =>
    storage.write((tx) => tx.insertInto('subscribers').values(rows).execute()),
  );
  await expectTranscript('subscribers', folder, { BASE_URL: 'https://news.example' });
});

test('backup, restore and erase print what their transcripts have', async () => {
  const leaving = (number: number, email: string) =>
    submissionRow({
      id: id(number),
      form: 'newsletter',
      status: 'waiting',
      subscriber: email,
      fields: { email },
    });
  const unsubscribed = (number: number, email: string) => {
    const row = leaving(number, email);
    return { ...row, subscriber: null, event: row.event.replace('subscriber.created', 'subscriber.unsubscribed') };
  };
  const folder = await folderWith((storage) =>
    keepRows(storage, [
      submissionRow({ id: id(1) }),
      submissionRow({ id: id(2), fields: { name: 'Eve', email: 'eve@example.com' } }),
      submissionRow({ id: id(3), fields: { name: 'Eve', email: 'eve@example.com' }, status: 'sending' }),
      leaving(4, 'reader@example.com'),
      unsubscribed(5, 'leaver@example.com'),
      unsubscribed(6, 'other@example.com'),
      unsubscribed(7, 'other@example.com'),
    ]),
  );
  writeFileSync(join(folder, 'empty'), '');
  writeFileSync(join(folder, 'other'), 'SQLite format 3');
  writeFileSync(join(folder, 'dump'), 'PGDMP and more');
  writeFileSync(join(folder, 'near'), ' PGDMP SQLite format 3\0');
  await expectTranscript('backup', folder);
  await expectTranscript('erase', folder);
});

test('other commands print what their transcript has', async () => {
  const folder = temporaryFolder();
  signedReceiptFile(folder, { name: 'Ada', message: 'One\ntwo' });
  writeFileSync(join(folder, 'none.jwks'), '{"keys":3}');
  await expectTranscript('other', folder);
});

test.each([
  ['credentials revoke acme', 'Revoke every credential of acme? [y/N]', 'Nothing was revoked.', 1],
  ['erase ada@example.com', 'Erase 1 lead, ', 'Nothing was erased.', 1],
  ['restore copy.db', 'with this backup? [y/N]', 'Nothing was replaced.', 1],
  ['demo --url http://service.invalid', 'Send the data? [y/N]', 'Nothing was sent.', 0],
])('%s asks at a terminal, and changes nothing without a yes', async (line, question, refusal, expected) => {
  const folder = await folderWith((storage) => keepRows(storage, [submissionRow({ id: id(1) })]));
  const environment = { DATA_DIR: join(folder, 'data'), AGENT_CREDENTIALS_FILE: join(folder, 'agents.json') };
  for (const line of ['credentials issue acme', 'backup copy.db']) {
    expect(await runService(line.split(' '), { folder, environment })).toMatchObject({ status: 0 });
  }
  const options = { folder, environment, nodeOptions: atTerminal('stdin', 'stderr'), input: 'n\n' };
  const { status, stderr } = await runService(line.split(' '), options);
  expect([status, stderr]).toEqual([expected, expect.stringContaining(question)]);
  expect(stderr.trimEnd().endsWith(refusal)).toBe(true);
});
