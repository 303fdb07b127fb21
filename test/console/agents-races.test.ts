/** Simultaneous changes of the credentials file, by one instance, by two and by the command (reference §12.17). */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { rotateCredential } from '../../src/credentials/manage.ts';
import { type Answer, previewAction } from '../support/agent.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { temporaryFolder } from '../support/process.ts';
import { credentials, type Service, tokens } from '../support/service.ts';
import { until } from '../support/until.ts';
import { type Operator, operatorWith, signIn, startWithConsole } from './operator.ts';

describe.each(databases)('console credentials of two instances, on %s', (_name, create) => {
  let database: TestDatabase;
  let file: string;
  let one: Service;
  let two: Service;
  let operators: [Operator, Operator];
  beforeAll(async () => {
    database = await create();
    file = join(temporaryFolder(), 'agents.json');
    writeFileSync(file, JSON.stringify(credentials));
    const environment = { DATABASE_URL: database.url, AGENT_CREDENTIALS_FILE: file };
    [one, two] = [await startWithConsole({ environment }), await startWithConsole({ environment })];
  });
  afterAll(async () => {
    await Promise.all([one.close(), two.close()]);
    await database.remove();
  });
  beforeEach(async () => {
    writeFileSync(file, JSON.stringify(credentials));
    await Promise.all([one, two].map(({ parts }) => parts.credentials.reload()));
    const first = await signIn(one);
    operators = [first, operatorWith(two, first.cookie)];
  });

  const press = (operator: Operator, form: Record<string, string>) => operator.press('/operator/agents', form);
  const issue = (operator: Operator, name: string) =>
    press(operator, { do: 'issue', name, label: name, expires: '', scope: 'lead:preview' });
  const tokenIn = ({ text }: Answer) => /<pre class="token"><code>([^<]+)</.exec(text)?.[1] ?? '';
  const works = async (service: Service, token: string) =>
    (await previewAction(service, undefined, undefined, { token })).status === 200;
  const clients = () =>
    JSON.parse(readFileSync(file, 'utf8')).clients as { name: string; credentials: { id: string }[] }[];
  const entries = () =>
    one.parts.storage.read((db) =>
      db.selectFrom('operator_audit').select('about').where('what', 'in', ['issued', 'rotated', 'revoked']),
    );

  test('stores all changes if two instances and a command change the file at the same time', async () => {
    const before = (await entries()).length;
    const names = Array.from({ length: 10 }, (_, index) => `bee-${index}`);
    const issued = names.map((name, index) => issue(operators[index % 2 === 0 ? 0 : 1], name));
    const byCommand = rotateCredential(
      { path: file, now: new Date() },
      { name: 'other', overlapMs: 0, expiresAt: null },
    );
    const answers = await Promise.all(issued);
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200));
    expect(
      clients()
        .map(({ name }) => name)
        .sort(),
    ).toEqual([...credentials.clients.map(({ name }) => name), ...names].sort());
    expect(clients().find(({ name }) => name === 'other')?.credentials).toHaveLength(2);
    expect(existsSync(`${file}.lock`)).toBe(false);
    expect((await entries()).length).toBe(before + names.length);

    const issuedTokens = answers.map(tokenIn);
    expect(new Set(issuedTokens).size).toBe(names.length);
    const changed = await byCommand;
    if (changed.kind === 'refused') throw new Error(changed.why);
    for (const service of [one, two]) {
      await until(
        async () => (await Promise.all(issuedTokens.map((token) => works(service, token)))).every(Boolean),
        5_000,
      );
      expect(await works(service, tokens.other)).toBe(false);
    }
  });

  test('if several requests issue the same name at once, one gets 200 and the others get 400', async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) => issue(operators[index % 2 === 0 ? 0 : 1], 'wasp')),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400, 400]);
    const winner = answers.findIndex(({ status }) => status === 200);
    expect(await works(winner % 2 === 0 ? one : two, tokenIn(answers[winner] as Answer))).toBe(true);
    expect(clients().filter(({ name }) => name === 'wasp')).toHaveLength(1);
  });

  test('a client is revoked if a revocation and a rotation arrive at the same time', async () => {
    const [rotated, revoked] = await Promise.all([
      press(operators[0], { do: 'rotate', name: 'acme', overlap: '7d' }),
      press(operators[1], { do: 'revoke', name: 'acme' }),
    ]);
    expect([
      [200, 303],
      [404, 303],
    ]).toContainEqual([rotated.status, revoked.status]);
    expect(clients().some(({ name }) => name === 'acme')).toBe(false);
    const all = [tokens.both, tokens.rotated, ...(rotated.status === 200 ? [tokenIn(rotated)] : [])];
    expect(await works(two, tokens.both)).toBe(false);
    await until(async () => !(await Promise.all(all.map((token) => works(one, token)))).some(Boolean), 5_000);
  });

  test('after “Sign out everywhere”, the session can change nothing at the other instance', async () => {
    await operators[0].press('/operator', { do: 'sign-out-everywhere' });
    const before = readFileSync(file, 'utf8');
    expect((await issue(operators[1], 'late')).status).toBe(303);
    expect(readFileSync(file, 'utf8')).toBe(before);
  });
});
