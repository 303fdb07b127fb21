/** Two clicks at the same time on the page of a code, on two instances (reference §6.13). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { codeOf } from '../../src/confirmations/tokens.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { lookAt, pending, pressButton, tokenIn, wrongOf } from './rig.ts';

const ROUNDS = 8;

describe.each(databases)('page of a code of two instances on %s', (_name, create) => {
  let database: TestDatabase;
  let upstream: ProgrammableUpstream;
  let one: Service;
  let two: Service;
  beforeAll(async () => {
    [database, upstream] = [await create(), await startUpstream()];
    const environment = { DATABASE_URL: database.url, UPSTREAM_URL: upstream.url, LOG_LEVEL: 'error' };
    [one, two] = [await startService({ environment }), await startService({ environment })];
  });
  afterAll(async () => {
    await Promise.all([one.close(), two.close()]);
    await upstream.close();
    await database.remove();
  });

  let people = 0;
  /** Returns a pending confirmation of a person of its own. A client may get 60 codes in an hour. */
  const asked = async () => {
    people += 1;
    const token = people % 2 ? tokens.both : tokens.other;
    const fields = { email: `code-race-${people}@example.com` };
    return { token, ...fields, ...(await pending(one, { action: 'newsletter', fields, via: 'page_email', token })) };
  };
  const withCode = async () => {
    const confirmation = await asked();
    expect((await pressButton(one, confirmation.path, 'code')).status).toBe(303);
    return { ...confirmation, code: codeOf(one.parts.signingKeys, confirmation.id, 1) };
  };
  const statusOf = async ({ id, token }: { id: string; token: string }) =>
    (await lookAt(two, id, { token })).body.confirmation.status;
  const delivered = (id: string) => upstream.delivered.filter(({ headers }) => headers['webhook-id'] === id).length;

  test('two requests for a code queue one message for each code that counts', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { id, path } = await asked();
      const pressed = await Promise.all([one, two].map((service) => pressButton(service, path, 'code')));
      expect(pressed.map(({ status }) => status)).toEqual([303, 303]);
      const { storage } = one.parts;
      const [row] = await storage.read((db) => db.selectFrom('confirmations').selectAll().where('id', '=', id));
      const counted = await storage.read((db) => db.selectFrom('confirmation_codes').selectAll().where('id', '=', id));
      const messages = await storage.read((db) =>
        db.selectFrom('messages').select('key').where('kind', '=', 'code').where('key', 'like', `${id}.%`),
      );
      expect(row?.code_number).toBeOneOf([1, 2]);
      expect([counted.length, messages.length]).toEqual([row?.code_number, row?.code_number]);
    }
  });

  test('the right code at both instances, then two clicks on send, deliver once', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { path, code, ...confirmation } = await withCode();
      const checked = await Promise.all([one, two].map((service) => pressButton(service, path, 'check', { code })));
      const [here = '', there = ''] = checked.map(({ text }) => tokenIn(text) ?? expect.fail('The code was refused.'));
      const sent = [pressButton(one, path, 'send', { token: here }), pressButton(two, path, 'send', { token: there })];
      expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([303, 303]);
      expect([await statusOf(confirmation), delivered(confirmation.id)]).toEqual(['submitted', 1]);
    }
  });

  test('the fifth wrong code ends the confirmation, also if the right code comes at the same time', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { path, code, email, ...confirmation } = await withCode();
      const wrong = { code: wrongOf(code) };
      for (let guess = 1; guess < 5; guess += 1) await pressButton(one, path, 'check', wrong);
      const [right] = await Promise.all([
        pressButton(one, path, 'check', { code }),
        pressButton(two, path, 'check', wrong),
      ]);
      expect(await statusOf(confirmation)).toBe('expired');
      const token = tokenIn(right.text);
      if (token !== undefined) await pressButton(two, path, 'send', { token });
      expect([await statusOf(confirmation), delivered(confirmation.id)]).toEqual(['expired', 0]);
      const late = await pressButton(one, path, 'check', { code });
      expect(late.text).not.toContain(email);
    }
  });
});
