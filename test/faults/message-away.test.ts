import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { post } from '../support/forms.ts';
import { type Service, startService } from '../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

let upstream: ProgrammableUpstream;
let service: Service;
beforeAll(async () => {
  upstream = await startUpstream();
  service = await startService({ environment: { UPSTREAM_URL: upstream.url } });
});
afterAll(async () => {
  await service.close();
  await upstream.close();
});

test('a subscription whose message can’t be kept is no success, and the message is kept once the store is back', async () => {
  const other = new DatabaseSync(join(service.folder, 'service.db'));
  other.exec('begin immediate');
  const email = 'jane@subscriber.example';
  const answer = await post(service, '/api/subscribe', 'json', { email, privacy: 'on' });
  expect([answer.status, upstream.delivered.length]).toEqual([502, 1]);
  other.exec('rollback');
  other.close();
  const { storage } = service.parts;
  const kept = () => storage.read((db) => db.selectFrom('messages').select('address'));
  await expect.poll(kept, { timeout: 5_000 }).toEqual([{ address: email }]);
});
