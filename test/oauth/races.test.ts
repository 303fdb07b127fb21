/** Two instances on one database get the same code or refresh token at the same time (reference §26.9). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer } from '../support/agent.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import type { Service } from '../support/service.ts';
import { ACME, codeFor, connect, post, refresh, startWithOauth, statusWith, type Tokens, useCode } from './rig.ts';

const ROUNDS = 15;

describe.each(databases)('two instances on %s', (_name, create) => {
  let database: TestDatabase;
  let instances: [Service, Service];
  beforeAll(async () => {
    database = await create();
    const environment = { DATABASE_URL: database.url };
    instances = [await startWithOauth({ environment }), await startWithOauth({ environment })];
  });
  afterAll(async () => {
    for (const instance of instances) await instance.close();
    await database.remove();
  });

  const sorted = (answers: Answer[]) => answers.map(({ status }) => status).sort();
  const issued = (answers: Answer[]): Tokens[] =>
    answers.filter(({ status }) => status === 200).map(({ body }) => body);
  const statusesOf = (all: Tokens[]) =>
    Promise.all(all.flatMap(({ access_token }) => instances.map((instance) => statusWith(instance, access_token))));

  test('serve the codes and tokens of each other', async () => {
    const [one, other] = instances;
    const code = await codeFor(one);
    const { body } = await useCode(other, code);
    expect(await statusWith(one, body.access_token)).toBe(200);
    expect((await refresh(one, body.refresh_token)).status).toBe(200);
  });

  test('use a code once, and its second use ends the tokens of the first', async () => {
    const [one, other] = instances;
    for (let round = 0; round < ROUNDS; round += 1) {
      const code = await codeFor(one);
      const answers = await Promise.all([one, other, one, other].map((instance) => useCode(instance, code)));
      expect(sorted(answers)).toEqual([200, 400, 400, 400]);
      expect(new Set(await statusesOf(issued(answers)))).toEqual(new Set([401]));
    }
  });

  test('use a refresh token once, and its second use ends the family', async () => {
    const [one, other] = instances;
    for (let round = 0; round < ROUNDS; round += 1) {
      const first = await connect(one);
      const answers = await Promise.all([one, other, one, other].map((each) => refresh(each, first.refresh_token)));
      expect(sorted(answers).filter((status) => status === 200).length).toBeLessThanOrEqual(1);
      expect(new Set(await statusesOf([first, ...issued(answers)]))).toEqual(new Set([401]));
      for (const { refresh_token } of issued(answers)) expect((await refresh(one, refresh_token)).status).toBe(400);
    }
  });

  test('end tokens that are issued in the moment in which an old refresh token or a code is used again', async () => {
    const [one, other] = instances;
    for (let round = 0; round < ROUNDS; round += 1) {
      const code = await codeFor(one);
      const first: Tokens = (await useCode(one, code)).body;
      const second: Tokens = (await refresh(one, first.refresh_token)).body;
      const [renewed] = await Promise.all([
        refresh(one, second.refresh_token),
        round % 2 === 0 ? refresh(other, first.refresh_token) : useCode(other, code),
      ]);
      expect(new Set(await statusesOf([first, second, ...issued([renewed])]))).toEqual(new Set([401]));
      for (const { refresh_token } of issued([renewed])) expect((await refresh(other, refresh_token)).status).toBe(400);
    }
  });

  test('end tokens that are issued in the moment of a revocation', async () => {
    const [one, other] = instances;
    for (let round = 0; round < ROUNDS; round += 1) {
      const first = await connect(one);
      const [renewed] = await Promise.all([
        refresh(one, first.refresh_token),
        post(other, { token: first.refresh_token, ...ACME }, { path: '/oauth/revoke' }),
      ]);
      expect(new Set(await statusesOf([first, ...issued([renewed])]))).toEqual(new Set([401]));
      for (const { refresh_token } of issued([renewed])) expect((await refresh(other, refresh_token)).status).toBe(400);
    }
  });

  test('leave no token of an ended connection in the store', async () => {
    const [{ parts }] = instances;
    const left = await parts.storage.read((db) =>
      db
        .selectFrom('oauth_access_tokens')
        .selectAll()
        .where('connection', 'not in', (rows) => rows.selectFrom('oauth_connections').select('id')),
    );
    expect(left).toEqual([]);
  });
});
