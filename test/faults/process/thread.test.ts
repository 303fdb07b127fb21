/** Threads with their own connection to SQLite, which die in the middle of their work (reference §23.3, §19.4). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeLink } from '../../../src/console/links.ts';
import { cookieOf, type Operator, operatorWith } from '../../console/operator.ts';
import { changeIn } from '../../crash/crashing.ts';
import { executeAction, previewId, quote } from '../../support/agent.ts';
import { beside, expectIntact } from '../../support/disk.ts';
import { post } from '../../support/forms.ts';
import { injected } from '../../support/injected.ts';
import { type ServiceProcess, startProcess } from '../../support/process.ts';
import { keepRows, recentRow } from '../../support/submissions.ts';
import { type ProgrammableUpstream, startUpstream } from '../../support/upstream.ts';

const deaths = [
  { death: 'dies-by-exit', how: 'exits' },
  { death: 'dies-by-throw', how: 'throws' },
  { death: 'dies-by-memory', how: 'runs out of memory' },
];

let upstream: ProgrammableUpstream;
let service: ServiceProcess;
let operator: Operator;
beforeAll(async () => {
  upstream = await startUpstream();
  const preload = [import.meta.resolve('./dying-thread.ts')];
  service = await startProcess({ preload, environment: { UPSTREAM_URL: upstream.url } });
  const link = { name: 'Jo', now: new Date(), baseUrl: 'http://operator.example' };
  let path = '';
  await changeIn(service.dataDir, async (storage) => {
    path = new URL(await makeLink(storage, link)).pathname;
  });
  operator = operatorWith(service, cookieOf(await operatorWith(service, '').press(path, {})));
});
afterAll(async () => {
  await service.end();
  await upstream.close();
});

const leadOf = (local: string) => ({ form: 'homeowner_quote', ...quote, email: `${local}@example.com` });
const search = (words: string) => operator.get(`/operator/leads?q=${words}`);

describe('thread of the console’s reads', () => {
  test.for(deaths)(
    'answers 503 to the searches that wait if it $how, and the next page works',
    async ({ death, how }, context) => {
      expect((await search('ada')).status).toBe(200);
      const pages = Promise.all([search(death), search(death), operator.get('/operator/leads')]);
      const others = Promise.all([
        post(service, '/api/leads', 'json', leadOf(death)),
        executeAction(service, await previewId(service)),
        operator.get('/operator/audit'),
      ]);
      injected(context, `the console’s reading thread ${how}`);
      const statuses = (await pages).map(({ status }) => status);
      expect(statuses.slice(0, 2)).toEqual([503, 503]);
      expect(statuses[2]).toBeOneOf([200, 503]);
      expect((await others).map(({ status }) => status)).toEqual([200, 200, 200]);
      expect([(await operator.get('/operator/leads')).status, (await search('ada')).status]).toEqual([200, 200]);
    },
  );
});

describe('thread of a change of many rows', () => {
  test.for(deaths)(
    'changes nothing and answers 503 if it $how, and the next change works',
    async ({ death, how }, context) => {
      const row = recentRow({ fields: { name: 'Ada', email: `${death}@erased.example`, message: 'Hi' } });
      const next = recentRow({ fields: { name: 'Eve', email: `after-${row.id}@erased.example` } });
      await changeIn(service.dataDir, (storage) => keepRows(storage, [row, next]));
      const erase = (id: string) => operator.press(`/operator/people/${id}`, { do: 'delete' });
      const erased = erase(row.id);
      injected(context, `the thread of a change of many rows ${how}`);
      const [answer, accepted] = await Promise.all([erased, post(service, '/api/leads', 'json', leadOf(row.id))]);
      expect([answer.status, accepted.status]).toEqual([503, 200]);
      const left = () =>
        beside(service, (database) =>
          database.prepare("select id from submissions where email like '%@erased.example'").all(),
        ).map(({ id }) => id);
      const entries = () =>
        beside(service, (database) =>
          database.prepare(`select what from operator_audit where about like '%${row.id}%'`).all(),
        );
      expect([left(), entries()]).toEqual([expect.arrayContaining([row.id, next.id]), []]);
      expect((await erase(next.id)).status).toBe(303);
      expect([left().includes(row.id), left().includes(next.id)]).toEqual([true, false]);
      expectIntact(service);
    },
  );
});
