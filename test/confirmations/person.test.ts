/** Erasure of a person with a pending confirmation (reference §6.13). */
import { expect, test } from 'vitest';
import { erasePerson } from '../../src/confirmations/person.ts';
import { startService } from '../support/service.ts';
import { lookAt, pending, pressButton } from './rig.ts';

test('erasePerson ends pending confirmations and deletes their queued codes, but not those of others', async () => {
  // Nothing answers at the address of this mail server, so each code stays in the queue.
  const service = await startService();
  try {
    const ask = async (email: string) => {
      const asked = await pending(service, { action: 'newsletter', fields: { email }, via: 'page_email' });
      for (const _ of [1, 2]) expect((await pressButton(service, asked.path, 'code')).status).toBe(303);
      return asked.id;
    };
    const [ada, grace] = [await ask('ada@example.com'), await ask('grace@example.com')];
    const { storage, clock } = service.parts;
    const rows = () =>
      storage.read((db) => db.selectFrom('messages').select(['key', 'message_id']).where('kind', '=', 'code'));
    const codes = async () => (await rows()).map(({ key }) => key).sort();
    expect(await codes()).toHaveLength(4);
    const ids = new Set((await rows()).map(({ message_id }) => message_id));
    expect([...ids]).toEqual(Array(4).fill(expect.stringMatching(/^<[^@]+@127\.0\.0\.1>$/)));
    await storage.write((tx) => erasePerson(tx, 'ada@example.com', clock.now()));
    expect(await codes()).toEqual([`${grace}.1`, `${grace}.2`]);
    const statusOf = async (id: string) => (await lookAt(service, id)).body.confirmation.status;
    expect([await statusOf(ada), await statusOf(grace)]).toEqual(['expired', 'pending']);
  } finally {
    await service.close();
  }
});
