import { expect, test } from 'vitest';
import { StorageUnavailable } from '../../../src/storage/database.ts';
import { scenario } from '../../support/scenario.ts';
import { ask, confirm, leave, newSubscriber, reader, subscribe } from '../rig.ts';

const at = scenario();

test('newsletter routes return 503 with Retry-After and send no event while the store is unavailable (reference §9.7)', async () => {
  const { service, upstream } = at;
  const row = await newSubscriber(service);
  const { storage } = service.parts;
  const whole = { read: storage.read, write: storage.write };
  const away = () => Promise.reject(new StorageUnavailable('away'));
  Object.assign(storage, { read: away, write: away });
  const status = await subscribe(service, reader());
  const answers = await Promise.all([
    ask(service, 'confirm', row.confirm_token),
    confirm(service, row),
    leave(service, row),
  ]);
  const page = await ask(service, 'leave', row.leave_token);
  Object.assign(storage, whole);
  expect([status, ...answers.map((each) => each.status)]).toEqual([503, 503, 503, 503]);
  expect(page.status).toBe(200);
  for (const answer of answers) expect(answer.headers.get('retry-after')).toBe('30');
  expect(upstream.delivered.map(({ event }) => event.type)).toEqual(['subscriber.created']);
});
