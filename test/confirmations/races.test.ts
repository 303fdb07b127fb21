/**
 * A press against everything that can come at the same moment, each a hundred times on both databases (beyond §4):
 * one delivery at most, one receipt, one state that everybody is told.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eraseConfirmationsOf } from '../../src/confirmations/erasure.ts';
import { eraseSubmissionsOf } from '../../src/submissions/erasure.ts';
import { executeAction } from '../support/agent.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { lookAt, openPage, pending, pressButton, tokenIn } from './rig.ts';

const TIMES = 100;
/** So many at a time: the rest of a machine works, too. */
const AT_ONCE = 10;

describe.each(databases)('on %s', (_name, create) => {
  let database: TestDatabase;
  let upstream: ProgrammableUpstream;
  let one: Service;
  let other: Service;
  beforeAll(async () => {
    database = await create();
    upstream = await startUpstream();
    const environment = {
      DATABASE_URL: database.url,
      UPSTREAM_URL: upstream.url,
      LOG_LEVEL: 'error',
    };
    [one, other] = await Promise.all([
      startService({ environment }),
      startService({ environment }),
    ]);
  });
  afterAll(async () => {
    await Promise.all([one.close(), other.close()]);
    await upstream.close();
    await database.remove();
  });

  type Asked = Awaited<ReturnType<typeof ready>>;
  let people = 0;

  /** One that waits, of a person of its own, and the token of its page. */
  async function ready() {
    people += 1;
    const fields = { email: `race-${people}@example.com` };
    const token = people % 2 ? tokens.both : tokens.other;
    const asked = await pending(one, { action: 'newsletter', fields, token });
    const page = tokenIn((await openPage(one, asked.path)).text) ?? '';
    return { ...asked, ...fields, token, page };
  }
  const press = (service: Service, { path, page }: Asked) =>
    pressButton(service, path, 'send', { token: page });

  /** Runs what races, then holds all that is told of it against what was delivered. */
  async function race(run: (asked: Asked) => Promise<unknown>, erased = false): Promise<string[]> {
    const statuses: string[] = [];
    for (let done = 0; done < TIMES; done += AT_ONCE) {
      const all = await Promise.all(Array.from({ length: AT_ONCE }, ready));
      await Promise.all(all.map(run));
      for (const asked of all) statuses.push(await toldOf(asked, erased));
    }
    return statuses;
  }

  async function toldOf(asked: Asked, erased: boolean): Promise<string> {
    const { id, key, preview, token } = asked;
    const delivered = upstream.delivered.filter(({ headers }) => headers['webhook-id'] === id);
    const [here, there] = await Promise.all([
      lookAt(one, id, { token }),
      lookAt(other, id, { token }),
    ]);
    expect(here.body).toEqual(there.body);
    const { status } = here.body.confirmation;
    expect([status, delivered.length]).toEqual([status, status === 'submitted' ? 1 : 0]);
    expect(['submitted', 'declined', 'reported', 'expired', 'pending']).toContain(status);
    const executed = await executeAction(other, preview, { action: 'newsletter', key, token });
    if (status === 'submitted') {
      expect(executed.body).toEqual({ ok: true, receipt: here.body.receipt, replay: true });
    } else {
      expect(executed.status).toBeGreaterThanOrEqual(400);
      expect(here.body).not.toHaveProperty('receipt');
    }
    const rows = await one.parts.storage.read((db) =>
      db.selectFrom('submissions').select('status').where('id', '=', id),
    );
    if (!erased) expect(rows.length).toBe(status === 'submitted' ? 1 : 0);
    return status;
  }

  test('two tabs press at once, at two instances', async () => {
    const statuses = await race((asked) => Promise.all([press(one, asked), press(other, asked)]));
    expect(new Set(statuses)).toEqual(new Set(['submitted']));
  });

  test('a press against execute under the same key and under another', async () => {
    const statuses = await race((asked) => {
      const { preview, key, token } = asked;
      const execute = (of: { key: string; token: string }) =>
        executeAction(other, preview, { action: 'newsletter', ...of });
      return Promise.all([
        press(one, asked),
        execute({ key, token }),
        execute({ key: `other-${key}`, token }),
        execute({ key, token: tokens.create }),
      ]);
    });
    expect(new Set(statuses)).toEqual(new Set(['submitted']));
  });

  test.each(['decline', 'report'])('a press against %s', async (button) => {
    const statuses = await race((asked) =>
      Promise.all([press(one, asked), pressButton(other, asked.path, button)]),
    );
    expect(statuses).toHaveLength(TIMES);
  });

  test('a press against its client’s DELETE', async () => {
    await race((asked) =>
      Promise.all([
        press(one, asked),
        lookAt(other, asked.id, { token: asked.token, method: 'DELETE' }),
      ]),
    );
  });

  test('a press against the end of its time', async () => {
    await race(async ({ id, ...asked }) => {
      const end = one.parts.storage.write(async (tx) => {
        const past = new Date(Date.now() - 1).toISOString();
        return await tx
          .updateTable('confirmations')
          .set({ expires_at: past })
          .where('id', '=', id)
          .execute();
      });
      await Promise.all([
        press(one, { id, ...asked }),
        end.then(() => other.parts.executions.asked.expire()),
      ]);
    });
  });

  test('a press against erasure: it is sent or ended, and nothing of it stays', async () => {
    await race(async (asked) => {
      const { storage } = other.parts;
      const erase = () =>
        storage.write(async (tx) => {
          await eraseConfirmationsOf(storage, tx, asked.email, new Date());
          await eraseSubmissionsOf(tx, asked.email);
        });
      await Promise.all([press(one, asked), erase()]);
      await erase();
      const kept = await storage.read((db) =>
        db.selectFrom('submissions').select('id').where('email', '=', asked.email),
      );
      const waiting = await storage.read((db) =>
        db.selectFrom('confirmations').select('id').where('email', '=', asked.email),
      );
      expect([kept, waiting]).toEqual([[], []]);
    }, true);
  });

  test('a press against the revocation of its client', async () => {
    await race(async (asked) => {
      const { credentials } = one.parts;
      const { mayStill } = credentials;
      const revoke = async () => {
        credentials.mayStill = () => false;
      };
      try {
        await Promise.all([press(one, asked), revoke()]);
      } finally {
        credentials.mayStill = mayStill;
      }
      // What was refused stays pending; it is sent once, or never.
      await lookAt(one, asked.id, { token: asked.token, method: 'DELETE' });
    });
  });
});
