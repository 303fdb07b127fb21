/** Credentials issued, rotated and revoked in the console, with real files (reference §12.17). */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isIssuedToken } from '../../src/credentials/tokens.ts';
import { tables } from '../../src/storage/schema.ts';
import { type Answer, executeAction, previewAction, previewId } from '../support/agent.ts';
import { type TestClock, testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { credentials, type Service, tokens } from '../support/service.ts';
import { type Operator, OUR_PAGE, operatorWith, signIn, startWithConsole } from './operator.ts';

const PAGE = '/operator/agents';
const HOUR_MS = 3_600_000;
const MARKUP = '<img src=x onerror=alert(1)> & "Co"';
const ESCAPED = '&lt;img src=x onerror=alert(1)&gt; &amp; &quot;Co&quot;';

describe.each(databases)('console credentials, on %s', (_name, create) => {
  let clock: TestClock;
  let database: TestDatabase;
  let service: Service;
  let operator: Operator;
  let file: string;
  let before: string;
  beforeAll(async () => {
    clock = testClock();
    database = await create();
    service = await startWithConsole({ clock, environment: { DATABASE_URL: database.url } });
    file = service.settings.credentialsFile ?? '';
  });
  afterAll(async () => {
    await service.close();
    await database.remove();
  });
  beforeEach(async () => {
    before = `${JSON.stringify({ note: 'ours', ...credentials }, null, 2)}\n`;
    writeFileSync(file, before);
    await service.parts.credentials.reload();
    await service.parts.storage.write((tx) => tx.deleteFrom('operator_audit').execute());
    operator = await signIn(service);
  });

  const press = (form: Record<string, string> | string, headers?: Record<string, string>) => {
    const body = new URLSearchParams(form);
    return operator.press(PAGE, {}, headers === undefined ? { body } : { body, headers });
  };
  const issue = (form: Record<string, string> = {}) =>
    press({ do: 'issue', name: 'bee', label: '', expires: '', scope: 'lead:preview', ...form });
  /** Returns the labels and values beside a new token. */
  const pairsIn = (html: string) =>
    [...html.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map(([, label, value = '']) => [
      label,
      value.replace(/<[^>]*>/g, ''),
    ]);
  const tokenIn = ({ text }: Answer) => /<pre class="token"><code>([^<]+)</.exec(text)?.[1] ?? '';
  const client = (name: string) =>
    JSON.parse(readFileSync(file, 'utf8')).clients.find((one: { name: string }) => one.name === name);
  const audit = async () => {
    const rows = await service.parts.storage.read((db) => db.selectFrom('operator_audit').selectAll().orderBy('id'));
    return rows.map(({ name, what, about }) => [name, what, JSON.parse(about)]).filter(([, what]) => !/^s/.test(what));
  };
  const works = async (token: string) => (await previewAction(service, undefined, undefined, { token })).status === 200;
  const unchanged = async () => expect([readFileSync(file, 'utf8'), await audit()]).toEqual([before, []]);

  describe('do=issue', () => {
    test('makes a sandbox client if its box is ticked, and the page shows the kind', async () => {
      expect((await issue({ sandbox: 'true' })).status).toBe(200);
      expect(client('bee').sandbox).toBe(true);
      expect((await issue({ name: 'cat' })).status).toBe(200);
      expect(client('cat').sandbox).toBeUndefined();
      const { text } = await operator.get(PAGE);
      expect(text).toContain('Sandbox: nothing of this client is sent.');
      const rotated = await press({ do: 'rotate', name: 'bee', overlap: '1h' });
      expect(pairsIn(rotated.text)).toContainEqual(['Kind', 'Sandbox: nothing of this client is sent']);
    });

    test('shows the new token once and stores only its digest', async () => {
      const answer = await issue({ label: ` ${MARKUP} `, expires: '2027-01-01' });
      const token = tokenIn(answer);
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
      expect(isIssuedToken(token)).toBe(true);
      expect(answer.text.split(token)).toHaveLength(2);
      expect(await works(token)).toBe(true);
      expect(answer.text).toContain('<title>New token · ');
      expect(pairsIn(answer.text)).toEqual([
        ['Client', 'bee'],
        ['Credential', 'c_1'],
        ['Scopes', 'lead:preview'],
        ['Expires', expect.stringMatching(/2027/)],
      ]);
      // The day begins at midnight of the operator's zone.
      expect(client('bee')).toMatchObject({
        label: MARKUP,
        scopes: ['lead:preview'],
        credentials: [{ id: 'c_1', created_at: clock.now().toISOString(), expires_at: '2026-12-31T23:00:00.000Z' }],
      });
      expect(client('acme')).toEqual(credentials.clients[0]);
      expect(readFileSync(file, 'utf8')).toContain('"note": "ours"');
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(await audit()).toEqual([['Jo', 'issued', { client: 'bee', credentials: ['c_1'] }]]);

      const pages = await Promise.all(
        [PAGE, `${PAGE}?revoke=bee`, '/operator/audit'].map((path) => operator.get(path)),
      );
      for (const { text } of pages) expect(text).not.toContain(token);
      for (const { text } of [answer, ...pages.slice(0, 2)]) {
        expect(text).toContain(ESCAPED);
        expect(text).not.toContain(MARKUP);
      }
      expect(pages[2]?.text).toMatch(/Issued a credential[\s\S]*<bdi>bee<\/bdi> <code>c_1</);
      expect(readFileSync(file, 'utf8')).not.toContain(token);
    });

    test('leaves no new token in the log and the database', async () => {
      const issued = tokenIn(await issue());
      const page = await press({ do: 'rotate', name: 'bee', overlap: '1h' });
      const ends = new Date(clock.now().getTime() + 60 * 60_000).toISOString();
      expect(page.text).toContain(`<dt>Old tokens expire</dt><dd><time datetime="${ends}">`);
      expect(page.text).toContain('<dt>Expires</dt><dd>Never</dd>');
      const rotated = tokenIn(page);
      expect([issued, rotated].map(isIssuedToken)).toEqual([true, true]);
      const rows = await Promise.all(
        tables
          .filter((table) => !table.startsWith('kysely'))
          .map((table) => service.parts.storage.read((db) => db.selectFrom(table as 'messages').selectAll())),
      );
      const traces = [service.logs.join(), JSON.stringify(rows), ...readdirSync(service.folder)].join();
      for (const token of [issued, rotated]) expect(traces).not.toContain(token);
      const logged = service.logs
        .map((line) => JSON.parse(line))
        .filter(({ msg }) => msg === 'agent credentials changed');
      expect(logged.at(-1)).toMatchObject({ client: 'bee', credentials: ['c_2'], change: 'rotated' });
      expect(readdirSync(service.folder).filter((name) => name.startsWith('agents.json'))).toEqual(['agents.json']);
    });

    test('gives the client exactly the scopes whose boxes are ticked', async () => {
      const answer = await press('do=issue&name=bee&scope=lead:create&scope=lead:preview');
      const both = tokenIn(answer);
      const preview = await previewId(service);
      const one = tokenIn(await issue({ name: 'wasp' }));
      expect((await executeAction(service, preview, { token: one })).status).toBe(403);
      expect((await executeAction(service, preview, { token: both })).status).toBe(200);
      expect([client('bee').scopes, client('wasp').scopes]).toEqual([
        ['lead:preview', 'lead:create'],
        ['lead:preview'],
      ]);
      expect(client('bee').label).toBeUndefined();
    });

    test.each<[string, Record<string, string>, string]>([
      ['no name', { name: '' }, 'Use letters, digits'],
      ['a name with a blank', { name: 'bee keeper' }, 'Use letters, digits'],
      ['a name that begins with a hyphen', { name: '--yes' }, 'Use letters, digits'],
      ['a name over 100 characters', { name: 'b'.repeat(101) }, 'Use letters, digits'],
      ['the name of another client', { name: 'acme' }, 'exists already'],
      ['a label over 60 characters', { label: 'b'.repeat(61) }, '1 to 60 visible characters'],
      ['a label of two lines', { label: 'Acme\nBank' }, '1 to 60 visible characters'],
      ['a label with a tab', { label: 'Acme\tBank' }, '1 to 60 visible characters'],
      ['a label that turns the direction', { label: 'Acme\u202eknaB' }, '1 to 60 visible characters'],
      ['a label with a hidden character', { label: 'Ac\u200bme' }, '1 to 60 visible characters'],
      ['a label with tags', { label: 'Acme\u{e0041}' }, '1 to 60 visible characters'],
      ['a label with piled marks', { label: `A${'\u0316'.repeat(9)}` }, '1 to 60 visible characters'],
      ['an end that is past', { expires: '2026-09-01' }, 'Choose a day after today'],
      ['an end that is no day', { expires: '2026-02-31' }, 'Choose a day after today'],
    ])('answers 400 to %s, shows the filled-in form again and changes nothing', async (_what, form, sentence) => {
      const answer = await issue({ label: 'Acme Bank', ...form });
      expect(answer.status).toBe(400);
      expect(answer.text).toMatch(/<title>Error: /);
      expect(answer.text).toContain(sentence);
      expect(answer.text).toMatch(/<details class="issue" open>/);
      expect(answer.text).toMatch(/aria-invalid="true" autofocus/);
      await unchanged();
    });

    test('shows the typed values again, escaped, if no scope is ticked', async () => {
      const answer = await press({ do: 'issue', name: MARKUP, label: MARKUP, expires: '2027-01-01' });
      expect(answer.status).toBe(400);
      expect(answer.text).toContain('Choose at least one scope.');
      expect(answer.text.split(`value="${ESCAPED}"`)).toHaveLength(3);
      expect(answer.text).toContain('value="2027-01-01"');
      expect(answer.text).not.toContain(MARKUP);
      await unchanged();
    });
  });

  describe('do=rotate', () => {
    test.each([
      ['1h', 1],
      ['24h', 24],
      ['7d', 168],
    ])('shows a new token, and ends the old tokens after the overlap of %s', async (overlap, hours) => {
      const answer = await press({ do: 'rotate', name: 'acme', overlap });
      const token = tokenIn(answer);
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
      expect(await Promise.all([token, tokens.both].map(works))).toEqual([true, true]);
      // c_3 has expired, so the rotation removes it.
      expect(client('acme').credentials.map(({ id }: { id: string }) => id)).toEqual(['c_1', 'c_2', 'c_4']);
      expect(await audit()).toEqual([['Jo', 'rotated', { client: 'acme', credentials: ['c_4'] }]]);
      clock.advance(hours * HOUR_MS - 1);
      expect(await works(tokens.both)).toBe(true);
      clock.advance(1);
      expect(await Promise.all([token, tokens.both].map(works))).toEqual([true, false]);
    });

    test('accepts a client name that the console would refuse but the file contains', async () => {
      const name = 'Jo & "Sons" <b>';
      before = before.replace('"acme"', JSON.stringify(name));
      writeFileSync(file, before);
      await service.parts.credentials.reload();
      const { text } = await operator.get(PAGE);
      expect(text).toContain('name="name" value="Jo &amp; &quot;Sons&quot; &lt;b&gt;"');
      const href = /href="([^"]+revoke=Jo[^"]+)">Revoke<span class="unseen"> <bdi>/.exec(text)?.[1] ?? '';
      expect((await operator.get(href.replaceAll('&amp;', '&'))).status).toBe(200);
      expect((await press({ do: 'rotate', name, overlap: '24h' })).status).toBe(200);
      expect((await press({ do: 'revoke', name })).status).toBe(303);
      expect(client(name)).toBeUndefined();
    });
  });

  describe('do=revoke', () => {
    test('asks on a page that changes nothing, and a click there ends every token of the client at once', async () => {
      const { text } = await operator.get(PAGE);
      const href = /href="([^"]+)">Revoke<span class="unseen"> <bdi>acme</.exec(text)?.[1] ?? '';
      const asked = await operator.get(href);
      expect([asked.status, href]).toEqual([200, `${PAGE}?revoke=acme`]);
      expect(asked.text).toContain('Revoke <bdi>acme</bdi>?');
      await unchanged();

      const revoked = await press({ do: 'revoke', name: 'acme' });
      expect([revoked.status, revoked.headers.get('location')]).toEqual([303, PAGE]);
      expect(await Promise.all([tokens.both, tokens.rotated, tokens.other].map(works))).toEqual([false, false, true]);
      expect(client('acme')).toBeUndefined();
      expect(await audit()).toEqual([['Jo', 'revoked', { client: 'acme', credentials: ['c_1', 'c_2', 'c_3'] }]]);
      expect((await operator.get(PAGE)).text).toContain('<p>Revoked: acme.</p>');
      expect((await operator.get(PAGE)).text).not.toContain('Revoked: ');
    });

    test('revokes one of several credentials, and the client with its last credential', async () => {
      const href = `${PAGE}?revoke=acme&credential=c_1`;
      expect((await operator.get(PAGE)).text).toContain(href.replace('&', '&amp;'));
      const asked = await operator.get(href);
      expect(asked.text).toContain('Revoke c_1 of <bdi>acme</bdi>?');
      const sent = /name="credential" value="([^"]+)"/.exec(asked.text)?.[1] ?? '';
      expect((await press({ do: 'revoke', name: 'acme', credential: sent })).status).toBe(303);
      expect(await Promise.all([tokens.both, tokens.rotated].map(works))).toEqual([false, true]);
      expect(client('acme').credentials.map(({ id }: { id: string }) => id)).toEqual(['c_2', 'c_3']);
      expect(await audit()).toEqual([['Jo', 'revoked', { client: 'acme', credentials: ['c_1'] }]]);
      expect((await operator.get(PAGE)).text).toContain('<p>Revoked: c_1 of acme.</p>');

      expect((await operator.get(`${PAGE}?revoke=other&credential=c_1`)).text).toContain(
        'The client and its credential',
      );
      await press({ do: 'revoke', name: 'other', credential: 'c_1' });
      expect(client('other')).toBeUndefined();
    });
  });

  test.each([
    ['no button', 'name=acme', 400],
    ['an unknown button', 'do=delete&name=acme', 400],
    ['two buttons', 'do=revoke&do=rotate&name=acme&overlap=1h', 400],
    ['a revocation without a name', 'do=revoke', 400],
    ['a revocation of two names', 'do=revoke&name=acme&name=other', 400],
    ['a revocation of two credentials', 'do=revoke&name=acme&credential=c_1&credential=c_2', 400],
    ['a rotation without a name', 'do=rotate&overlap=1h', 400],
    ['a rotation without an overlap', 'do=rotate&name=acme', 400],
    ['an overlap of another length', 'do=rotate&name=acme&overlap=999999d', 400],
    ['an overlap that every object has', 'do=rotate&name=acme&overlap=constructor', 400],
    ['an unknown scope', 'do=issue&name=bee&scope=lead:preview&scope=lead:delete', 400],
    ['another kind than sandbox', 'do=issue&name=bee&sandbox=yes&scope=lead:preview', 400],
    ['two names of a client', 'do=issue&name=bee&name=wasp&scope=lead:preview', 400],
    ['two labels', 'do=issue&name=bee&label=B&label=W&scope=lead:preview', 400],
    ['two ends', 'do=issue&name=bee&expires=2027-01-01&expires=&scope=lead:preview', 400],
    ['a rotation of an unknown client', 'do=rotate&name=nobody&overlap=1h', 404],
    ['a revocation of an unknown client', 'do=revoke&name=__proto__', 404],
    ['a revocation of an unknown credential', 'do=revoke&name=acme&credential=c_9', 404],
  ])('refuses %s, and neither changes nor logs anything', async (_what, form, status) => {
    const changes = () => service.logs.filter((line) => line.includes('agent credentials'));
    const before = changes();
    const answer = await press(form);
    expect(answer.status).toBe(status);
    // The form with a fault has this title.
    expect(answer.text).not.toContain('<title>Error: ');
    await unchanged();
    expect(changes()).toEqual(before);
  });

  test('answers 400 to a JSON body and changes nothing', async () => {
    const body = JSON.stringify({ do: 'revoke', name: 'acme' }) as unknown as URLSearchParams;
    const headers = { ...OUR_PAGE, 'content-type': 'application/json' };
    expect((await operator.press(PAGE, {}, { body, headers })).status).toBe(400);
    await unchanged();
  });

  test.each(['?revoke=nobody', '?revoke=', '?revoke=acme&credential=c_9', '?revoke=other&revoke=nobody'])(
    'answers 404 to the revocation page with the query %s',
    async (query) => {
      expect((await operator.get(PAGE + query)).status).toBe(404);
    },
  );

  const changes = [
    { do: 'issue', name: 'bee', scope: 'lead:preview' },
    { do: 'rotate', name: 'acme', overlap: '1h' },
    { do: 'revoke', name: 'acme' },
  ];

  test('answers 403 to a change from another site, and 303 to a change without a session', async () => {
    for (const form of changes) {
      for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }, {}]) {
        expect((await press(form, headers)).status).toBe(403);
      }
      expect((await press(form, { ...OUR_PAGE, 'signature-agent': '"x"' })).status).toBe(403);
      expect((await operatorWith(service, '').press(PAGE, form)).status).toBe(303);
    }
    expect((await operator.get(`${PAGE}?do=revoke&name=acme`)).status).toBe(200);
    await unchanged();
  });

  test('answers 403 to a change if the sign-in is an hour old', async () => {
    clock.advance(HOUR_MS - 1);
    expect((await operator.get(PAGE)).text).not.toContain('more than an hour ago');
    clock.advance(1);
    for (const form of changes) expect((await press(form)).status).toBe(403);
    expect((await operator.get(PAGE)).text).toContain('more than an hour ago');
    expect((await operator.get(`${PAGE}?revoke=acme`)).text).toContain('more than an hour ago');
    await unchanged();
  });

  test('answers 503 if the credentials file can’t be changed, and leaves the file unchanged', async () => {
    // A folder in place of the lock stops every edit, as a full or read-only disk does.
    mkdirSync(`${file}.lock`);
    for (const form of changes) {
      const answer = await press(form);
      expect(answer.status).toBe(503);
      expect(answer.text).toContain('npm run credentials');
      expect(answer.text).not.toMatch(/lia_/);
    }
    rmdirSync(`${file}.lock`);
    const logged = service.logs
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg === 'agent credentials not changed');
    expect(logged).toHaveLength(changes.length);
    for (const { reason } of logged) expect(reason).toMatch(/^The credentials file can’t be written/);
    await unchanged();
    expect(service.logs.join()).toContain('agent credentials not changed');
    expect((await issue()).status).toBe(200);
  });

  test('shows commands instead of buttons while the credentials file is invalid', async () => {
    expect((await operator.get(PAGE)).text).not.toContain('npm run credentials -- rotate');
    writeFileSync(file, '{');
    await service.parts.credentials.reload();
    const { text } = await operator.get(PAGE);
    expect(text).toContain('npm run credentials -- rotate acme');
    expect(text).toContain('The credentials file is invalid');
    expect(text).not.toContain('<button class="button small" name="do"');
    expect(text).not.toContain('revoke=');
    for (const form of changes) expect((await press(form)).status).toBe(503);
    expect(readFileSync(file, 'utf8')).toBe('{');
    expect(await works(tokens.both)).toBe(true);
  });

  test('shows commands instead of buttons while the process may not write the credentials file', async () => {
    Object.defineProperty(process, 'permission', { configurable: true, value: { has: () => true } });
    try {
      const { text } = await operator.get(PAGE);
      expect(text).toContain('can’t write the credentials file');
      expect(text).toContain('npm run credentials -- issue NAME');
      expect(text).not.toContain('name="do" value="issue"');
      expect((await operator.get(`${PAGE}?revoke=acme`)).text).not.toContain('value="revoke"');
      for (const form of changes) expect((await press(form)).status).toBe(503);
    } finally {
      Reflect.deleteProperty(process, 'permission');
    }
    await unchanged();
  });
});
