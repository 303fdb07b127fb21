/** Runs the doctor with the settings of its files in `transcripts`, and compares all that it prints. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, vi } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { clientOf } from '../credentials/credentials-file.ts';
import { newKey } from '../support/receipts.ts';
import { temporaryFolder } from './run-service.ts';
import { expectTranscript } from './transcript.ts';

vi.setConfig({ testTimeout: 60_000 });

/** Creates a folder, and returns what writes its files. */
function newFolder() {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'data'), { mode: 0o700 });
  mkdirSync(join(folder, 'content'));
  return { folder, write: (name: string, text: string) => writeFileSync(join(folder, name), text, { mode: 0o600 }) };
}

test('doctor prints what its transcript has before the first start', async () => {
  const { folder, write } = newFolder();
  write('receipt-keys', newKey() + newKey());
  write('agents', JSON.stringify({ clients: [clientOf('acme', ['x']), clientOf('other', ['y'])] }));
  await expectTranscript('doctor', folder);
});

test('doctor prints the warnings of its transcript about open and expired files', async () => {
  const { folder, write } = newFolder();
  await (await openSqlite(join(folder, 'data/service.db'), systemClock)).close();
  write('data/preview-signing-key', Buffer.alloc(32, 'a').toString('base64'));
  write('data/receipt-signing-key', newKey());
  write('data/agents.json', JSON.stringify({ clients: [clientOf('old', ['x', 'y'], [], '2021-01-01T00:00:00.000Z')] }));
  write('content/words.yaml', '{}');
  for (const name of ['preview-signing-key', 'receipt-signing-key']) chmodSync(join(folder, 'data', name), 0o666);
  await expectTranscript('doctor-warnings', folder);
});

test('doctor prints the failures of its transcript about broken files', async () => {
  const { folder, write } = newFolder();
  write('data/preview-signing-key', 'c2hvcnQ=');
  write('data/receipt-signing-key', 'canary');
  write('data/agents.json', '{"clients":3}');
  write('content/about.md', 'no front matter');
  write('data/service.db', 'this is not a database, but it is long enough to be read');
  write('file', '');
  await expectTranscript('doctor-failures', folder);
});
