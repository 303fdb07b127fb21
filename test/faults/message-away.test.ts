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

test('POST /api/subscribe returns 503 and sends nothing if the message can’t be stored (reference §9.2)', async () => {
  const other = new DatabaseSync(join(service.folder, 'service.db'));
  other.exec('begin immediate');
  const email = 'jane@subscriber.example';
  const answer = await post(service, '/api/subscribe', 'json', { email, privacy: 'on' });
  expect([answer.status, upstream.delivered.length]).toEqual([503, 0]);
  other.exec('rollback');
  other.close();
  expect((await post(service, '/api/subscribe', 'json', { email, privacy: 'on' })).status).toBe(200);
  const { storage } = service.parts;
  const kept = await storage.read((db) => db.selectFrom('messages').select('address'));
  expect(kept).toEqual([{ address: email }]);
});
