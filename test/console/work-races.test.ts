/** Two operators change the same leads at the same time, on two instances (reference §12.14). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { databases, type TestDatabase } from '../support/databases.ts';
import type { Service } from '../support/service.ts';
import { allRows, keepRows, recentRow } from '../support/submissions.ts';
import { type Operator, operatorWith, signIn, startWithConsole } from './operator.ts';

const ROUNDS = 6;
const LEADS = 12;

describe.each(databases)('leads of two instances on %s', (_name, create) => {
  let database: TestDatabase;
  let one: Service;
  let two: Service;
  let jo: Operator;
  let al: Operator;
  beforeAll(async () => {
    database = await create();
    const environment = { DATABASE_URL: database.url, REDELIVERY: 'off' };
    [one, two] = [await startWithConsole({ environment }), await startWithConsole({ environment })];
    jo = await signIn(one);
    al = operatorWith(two, (await signIn(one, 'Al')).cookie);
  });
  afterAll(async () => {
    await Promise.all([one.close(), two.close()]);
    await database.remove();
  });
  beforeEach(empty);

  function empty() {
    return one.parts.storage.write(async (tx) => {
      await tx.deleteFrom('submissions').execute();
      await tx.deleteFrom('operator_audit').execute();
    });
  }
  const keepLeads = async () => {
    await empty();
    const undelivered = { status: 'undelivered', reason: 'rejected' } as const;
    const rows = Array.from({ length: LEADS }, (_, n) => recentRow(n % 2 === 0 ? undelivered : {}));
    await keepRows(one.parts.storage, rows);
    return rows.map(({ id }) => id);
  };
  const bulk = (operator: Operator, what: string, ids: readonly string[]) => {
    const body = new URLSearchParams([['do', what], ...ids.map((id) => ['id', id])]);
    return operator.press('/operator/leads/bulk', {}, { body });
  };
  const undoOf = async (operator: Operator) => {
    const { text } = await operator.get('/operator/leads');
    return /name="change" value="([^"]+)"/.exec(text)?.[1] ?? expect.fail('There is no button to undo.');
  };
  const undo = (operator: Operator, change: string) => operator.press('/operator/leads/undo', { change });
  const progresses = async () => [...new Set((await allRows(one.parts.storage)).map(({ progress }) => progress))];
  const statuses = async () => (await allRows(one.parts.storage)).map(({ status }) => status).sort();
  const changes = async () => {
    const rows = await one.parts.storage.read((db) =>
      db.selectFrom('operator_audit').select(['what', 'about']).where('what', 'in', ['marked', 'undid']).orderBy('at'),
    );
    return rows.map(({ what, about }) => `${what} ${JSON.parse(about).ids.length}`);
  };
  const together = async (...pressed: Promise<{ status: number }>[]) =>
    expect((await Promise.all(pressed)).map(({ status }) => status)).toEqual(pressed.map(() => 303));

  test('two changes of the same leads in opposite orders both succeed, and the later one holds for all leads', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const ids = await keepLeads();
      await together(bulk(jo, 'won', ids), bulk(al, 'lost', ids.toReversed()));
      const [last, ...others] = await progresses();
      expect([last, others]).toEqual([expect.stringMatching(/^(won|lost)$/), []]);
      expect(await changes()).toEqual([`marked ${LEADS}`, `marked ${LEADS}`]);
      // The later change undoes to the earlier one, and the earlier one then to the beginning.
      const [later, earlier] = last === 'won' ? [jo, al] : [al, jo];
      await undo(later, await undoOf(later));
      expect(await progresses()).toEqual([last === 'won' ? 'lost' : 'won']);
      await undo(earlier, await undoOf(earlier));
      expect(await progresses()).toEqual(['new']);
    }
  });

  test('an undo overwrites no change that another operator makes at the same time, nor the delivery', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const ids = await keepLeads();
      await bulk(jo, 'lost', ids);
      const change = await undoOf(jo);
      await together(undo(jo, change), bulk(al, 'spam', ids));
      expect(await progresses()).toEqual(['spam']);
      expect(new Set(await statuses())).toEqual(new Set(['delivered', 'dismissed']));
      expect((await changes()).filter((each) => each !== `undid ${LEADS}`)).toEqual(Array(2).fill(`marked ${LEADS}`));
    }
  });

  test('two clicks on the same undo undo once', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const ids = await keepLeads();
      await bulk(jo, 'won', ids);
      const change = await undoOf(jo);
      await together(undo(jo, change), undo(operatorWith(two, jo.cookie), change));
      expect(await progresses()).toEqual(['new']);
      expect((await changes()).sort()).toEqual([`marked ${LEADS}`, `undid ${LEADS}`]);
    }
  });
});
