/** Export and erasure of a person with a pending confirmation (reference §6.13). */
import { expect, test } from 'vitest';
import { erasePerson, exportPerson } from '../../src/confirmations/person.ts';
import type { MessageRow } from '../../src/storage/operation-schema.ts';
import { startService } from '../support/service.ts';
import { lookAt, pending, pressButton } from './rig.ts';

test('erasePerson ends pending confirmations, deletes their codes and pages of links, and nothing of others', async () => {
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
    const lines: unknown[] = [];
    for await (const { lines: text } of exportPerson(storage, 'ada@example.com'))
      lines.push(...text.trim().split('\n'));
    expect(lines.map((line) => JSON.parse(String(line)))).toMatchObject([
      { type: 'confirmation.pending', id: ada, fields: { email: 'ada@example.com' } },
    ]);
    // A sign-in link returns to a page whose address can contain a search for the person.
    const page = '/operator/leads?q=ada';
    const link = { digest: 'x', name: 'Jo', mailed: 1 as const, created_at: '', expires_at: '', used_at: null, page };
    await storage.write(async (tx) => {
      const [code] = await tx.selectFrom('messages').selectAll().limit(1).execute();
      const signIn = { ...code, kind: 'sign_in' as const, key: 'link', about: page };
      await tx
        .insertInto('messages')
        .values(signIn as MessageRow)
        .execute();
      await tx
        .insertInto('operator_links')
        .values({ ...link, message: 'link' })
        .execute();
    });
    await storage.write((tx) => erasePerson(tx, 'ada@example.com', clock.now()));
    expect(await codes()).toEqual([`${grace}.1`, `${grace}.2`]);
    const mails = storage.read((db) => db.selectFrom('messages').select('about').where('kind', '=', 'sign_in'));
    expect(await mails).toEqual([{ about: null }]);
    expect(await storage.read((db) => db.selectFrom('operator_links').select('page'))).toEqual([{ page: null }]);
    const statusOf = async (id: string) => (await lookAt(service, id)).body.confirmation.status;
    expect([await statusOf(ada), await statusOf(grace)]).toEqual(['expired', 'pending']);
  } finally {
    await service.close();
  }
});
