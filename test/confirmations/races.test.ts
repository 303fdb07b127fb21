/**
 * Races a person's click on send against each event that can happen at the same moment, 100 times on both databases.
 * At most one delivery, one receipt and one state for every reader (reference §6.2).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { erasePerson } from '../../src/confirmations/person.ts';
import { executeAction } from '../support/agent.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { lookAt, openPage, pending, pressButton, tokenIn } from './rig.ts';

const TIMES = 100;
/** Races that run at the same time. The other processes of the machine need their share. */
const AT_ONCE = 10;

describe.each(databases)('races of a confirmation on %s', (_name, create) => {
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
    [one, other] = await Promise.all([startService({ environment }), startService({ environment })]);
  });
  afterAll(async () => {
    await Promise.all([one.close(), other.close()]);
    await upstream.close();
    await database.remove();
  });

  type Asked = Awaited<ReturnType<typeof ready>>;
  let people = 0;

  /** Returns a pending confirmation of a person of its own, with the token of its page. */
  async function ready() {
    people += 1;
    const fields = { email: `race-${people}@example.com` };
    const token = people % 2 ? tokens.both : tokens.other;
    const asked = await pending(one, { action: 'newsletter', fields, token });
    const page = tokenIn((await openPage(one, asked.path)).text) ?? '';
    return { ...asked, ...fields, token, page };
  }
  const press = (service: Service, { path, page }: Asked) => pressButton(service, path, 'send', { token: page });

  /** Runs the races, then compares every reported status with the deliveries. */
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
    const [here, there] = await Promise.all([lookAt(one, id, { token }), lookAt(other, id, { token })]);
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

  test('sends once if two instances get a click on send at the same time', async () => {
    const statuses = await race((asked) => Promise.all([press(one, asked), press(other, asked)]));
    expect(new Set(statuses)).toEqual(new Set(['submitted']));
  });

  test('sends once if a click on send races execute requests with the same and with another key', async () => {
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

  test.each(['decline', 'change', 'report'])(
    'sends at most once if a click on send races a click on %s',
    async (button) => {
      const statuses = await race((asked) =>
        Promise.all([press(one, asked), pressButton(other, asked.path, button, { token: asked.page })]),
      );
      expect(statuses).toHaveLength(TIMES);
    },
  );

  test('sends at most once if a click on send races a DELETE of the confirmation by its client', async () => {
    await race((asked) =>
      Promise.all([press(one, asked), lookAt(other, asked.id, { token: asked.token, method: 'DELETE' })]),
    );
  });

  test('sends at most once if a click on send races the expiry of the confirmation', async () => {
    await race(async ({ id, ...asked }) => {
      const end = one.parts.storage.write(async (tx) => {
        const past = new Date(Date.now() - 1).toISOString();
        return await tx.updateTable('confirmations').set({ expires_at: past }).where('id', '=', id).execute();
      });
      await Promise.all([press(one, { id, ...asked }), end.then(() => other.parts.pending.expire())]);
    });
  });

  test('sends at most once and leaves no data if a click on send races erasure', async () => {
    await race(async (asked) => {
      const { storage } = other.parts;
      const erase = () =>
        storage.write(async (tx) => {
          await erasePerson(tx, asked.email, new Date());
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

  test('sends at most once if a click on send races the revocation of the client', async () => {
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
      // A refused confirmation stays pending. It is sent once or never.
      await lookAt(one, asked.id, { token: asked.token, method: 'DELETE' });
    });
  });
});
