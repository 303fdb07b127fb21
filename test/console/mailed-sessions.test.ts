/** Sessions of operators who signed in by mail (reference §12.16): their page, freshness, end and audit. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { erasePerson } from '../../src/confirmations/person.ts';
import { signInRenderer } from '../../src/console/sign-in-mail.ts';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import type { Answer } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import type { Service } from '../support/service.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';
import { cookieOf, isSignedIn, linkFor, type Operator, operatorWith, signIn } from './operator.ts';
import { AL, JO, mailed, mailedLink, queued, request, signInByMail, startWithOperators } from './sign-in-mail.ts';

const HOUR_MS = 3_600_000;
const FRESH_BUTTON = 'E-mail me a fresh link';

/** Returns the values of the form with the button for a new link, or undefined without such a form. */
function freshForm({ text }: Answer): Record<string, string> | undefined {
  const [form] = text.match(/<form[^>]*action="\/operator\/sign-in">[\s\S]*?<\/form>/) ?? [];
  if (!form?.includes(`>${FRESH_BUTTON}</button>`)) return undefined;
  const inputs = form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
  return Object.fromEntries([...inputs].map(([, name, value]) => [name, value?.replaceAll('&amp;', '&')]));
}

const locationOf = ({ headers }: Answer) => headers.get('location');

describe.each(databases)('operators who signed in by mail, on %s', (_name, create) => {
  const clock = testClock();
  const lead = submissionRow({ fields: { name: 'Ada', email: 'ada@example.com' } });
  let database: TestDatabase;
  let server: MailServer;
  let service: Service;
  beforeAll(async () => {
    database = await create();
    server = await startMailServer();
    service = await start();
    await keepRows(service.parts.storage, [lead]);
  });
  afterAll(async () => {
    await service.close();
    await server.close();
    await database.remove();
  });
  beforeEach(() => service.parts.storage.write(async (tx) => void (await tx.deleteFrom('messages').execute())));

  const start = (OPERATORS = `${JO},${AL}`) =>
    startWithOperators(server, clock, { DATABASE_URL: database.url, REDELIVERY: 'off', OPERATORS });
  const nobody = (on = service) => operatorWith(on, '');
  const audit = async () => {
    const rows = await service.parts.storage.read((db) => db.selectFrom('operator_audit').selectAll().orderBy('id'));
    return rows.map(({ name, what }) => [name, what]);
  };

  test.each<[page: string, to: string]>([
    ['/operator/leads?q=Ada+L%C3%B6ve&status=waiting', '/operator/leads?q=Ada+L%C3%B6ve&status=waiting'],
    [`/operator/leads/${lead.id}`, `/operator/leads/${lead.id}`],
    ['/operator', '/operator'],
    ...[
      '',
      'https://evil.example/operator',
      '//evil.example/operator',
      '/\\evil.example',
      '/operator/../evil',
      '/operator/sign-in',
      '/operator/nowhere',
      '/operator/leads.csv',
      `/operator/people/${lead.id}?export`,
      '/operator\r\nSet-Cookie: a=b',
      `/operator/leads?q=${'a'.repeat(2_000)}`,
    ].map((page): [string, string] => [page, '/operator']),
  ])('a link for the page %j leads to %s', async (page, to) => {
    const path = await mailedLink(service, server, JO, page);
    const pressed = await nobody().press(path, {});
    expect([pressed.status, locationOf(pressed)]).toEqual([303, to]);
  });

  test('without a session, the redirect, the form and the mailed link return to the requested page', async () => {
    const page = `/operator/leads/${lead.id}?q=Ada`;
    const form = await nobody().get(locationOf(await nobody().get(page)) ?? '');
    const hidden = /name="page" value="([^"]*)"/.exec(form.text)?.[1] ?? '';
    const pressed = await nobody().press(await mailedLink(service, server, JO, hidden), {});
    expect(locationOf(pressed)).toBe(page);
    expect((await operatorWith(service, cookieOf(pressed)).get(page)).status).toBe(200);
  });

  describe('a session that is an hour old', () => {
    let operator: Operator;
    beforeEach(async () => {
      operator = await signInByMail(service, server);
      clock.advance(HOUR_MS - 1);
      expect((await operator.get('/operator/leads.jsonl')).status).toBe(200);
      clock.advance(1);
    });

    const person = `/operator/people/${lead.id}`;
    const get = (path: string) => () => operator.get(path);
    test.each<[string, () => Promise<Answer>, string]>([
      ['/operator/leads.csv', get('/operator/leads.csv'), '/operator/leads'],
      ['a filtered CSV', get('/operator/leads.csv?status=waiting&q=Ada+b'), '/operator/leads?status=waiting&q=Ada+b'],
      ['/operator/leads.jsonl', get('/operator/leads.jsonl?form=contact'), '/operator/leads?form=contact'],
      ['an export of subscribers', get('/operator/subscribers.csv?q=a'), '/operator/subscribers?q=a'],
      ['the export of a person', get(`${person}?export=jsonl`), person],
      ['a deletion', () => operator.press(person, { do: 'delete' }), `${person}?delete=ask`],
    ])('gets 403 for %s, and a button that mails a link back to the page', async (_what, act, page) => {
      const refused = await act();
      expect([refused.status, refused.text.includes('npm run')]).toEqual([403, false]);
      const form = freshForm(refused);
      expect(form).toEqual({ email: JO, page });
      const sent = await operator.press('/operator/sign-in', form ?? {});
      await queued(service);
      expect([sent.status, locationOf(sent)]).toEqual([303, '/operator/sign-in/sent']);
      const [mail] = await mailed(service, server);
      expect(mail?.to).toBe(JO);
      const pressed = await operator.press(mail?.path ?? '', {});
      expect(locationOf(pressed)).toBe(page);
      // The sign-in ended the session that was not fresh.
      expect(await isSignedIn(operator)).toBe(false);
      expect((await operatorWith(service, cookieOf(pressed)).get('/operator/leads.csv')).status).toBe(200);
    });

    test('gets the button for a fresh link on the page that asks before a deletion, and reads other pages', async () => {
      expect(freshForm(await operator.get(`${person}?delete=ask`))).toEqual({
        email: JO,
        page: `${person}?delete=ask`,
      });
      expect((await operator.get(person)).status).toBe(200);
    });

    test('gets at most five links an hour by the button for a fresh link', async () => {
      for (let n = 0; n < 7; n += 1) await operator.press('/operator/sign-in', { email: JO, page: person });
      await queued(service);
      // One link of this hour signed the session in, which was an hour ago.
      expect(await mailed(service, server)).toHaveLength(5);
    });
  });

  test('a session of a printed link gets the command for a new link, even if its name is an operator’s address', async () => {
    const printed = await signIn(service, JO);
    clock.advance(HOUR_MS);
    for (const answer of [
      await printed.get('/operator/leads.csv'),
      await printed.press(`/operator/people/${lead.id}`, { do: 'delete' }),
      await printed.get(`/operator/people/${lead.id}?delete=ask`),
    ]) {
      expect(answer.text).toContain('npm run operator -- link');
      expect(freshForm(answer)).toBeUndefined();
    }
  });

  test('“Sign out everywhere” ends mailed or printed sessions only, even if their names are equal', async () => {
    const [one, two] = [await signInByMail(service, server), await signInByMail(service, server)];
    const printed = await signIn(service, JO);
    const mailedPath = await mailedLink(service, server);
    const printedPath = await linkFor(service, JO);

    await printed.press('/operator', { do: 'sign-out-everywhere' });
    expect(await Promise.all([printed, one, two].map(isSignedIn))).toEqual([false, true, true]);
    expect((await nobody().press(printedPath, {})).status).toBe(403);

    const again = await signIn(service, JO);
    await one.press('/operator', { do: 'sign-out-everywhere' });
    expect(await Promise.all([again, one, two].map(isSignedIn))).toEqual([true, false, false]);
    expect((await nobody().press(mailedPath, {})).status).toBe(403);
  });

  test('the audit names an operator who signed in by mail by the address', async () => {
    const operator = await signInByMail(service, server, AL);
    await operator.get(`/operator/leads/${lead.id}`);
    await operator.press('/operator', { do: 'sign-out' });
    expect((await audit()).slice(-3)).toEqual([
      [AL, 'signed_in'],
      [AL, 'saw_lead'],
      [AL, 'signed_out'],
    ]);
  });

  test('if an address is removed from OPERATORS, the next start ends its sessions, links and waiting mail', async () => {
    const [jo, al] = [await signInByMail(service, server), await signInByMail(service, server, AL)];
    const printed = await signIn(service, JO);
    const links = [await mailedLink(service, server), await mailedLink(service, server, AL)];
    const printedLink = await linkFor(service, JO);
    await request(service, JO);

    const next = await start(AL);
    expect(await Promise.all([jo, al, printed].map(isSignedIn))).toEqual([false, true, true]);
    const statuses = [];
    for (const path of [...links, printedLink]) statuses.push((await nobody(next).press(path, {})).status);
    expect(statuses).toEqual([403, 303, 303]);
    expect(await mailed(next, server)).toEqual([]);
    await request(next, JO);
    expect(await mailed(next, server)).toEqual([]);
    await next.close();

    // The address returns, but its sessions and links do not.
    const last = await start();
    expect(await isSignedIn(operatorWith(last, jo.cookie))).toBe(false);
    expect((await nobody(last).press(links[0] ?? '', {})).status).toBe(403);
    await last.close();
  });

  test('a start without OPERATORS ends all sessions of mailed links', async () => {
    const [jo, printed] = [await signInByMail(service, server), await signIn(service)];
    const next = await start('');
    expect(await Promise.all([jo, printed].map(isSignedIn))).toEqual([false, true]);
    await next.close();
  });

  test('an erasure deletes the stored return pages of links and waiting mails', async () => {
    const page = '/operator/leads?q=ada%40example.com';
    const path = await mailedLink(service, server, JO, page);
    await request(service, JO, page);
    const { storage } = service.parts;
    await storage.write(async (tx) => void (await erasePerson(tx, 'ada@example.com', clock.now())));
    const stored = await Promise.all([
      storage.read((db) => db.selectFrom('operator_links').select('page')),
      storage.read((db) => db.selectFrom('messages').select('about')),
    ]);
    expect(JSON.stringify(stored)).not.toContain('ada');
    expect(locationOf(await nobody().press(path, {}))).toBe('/operator');
  });

  test('a mail that was claimed before an erasure stores no return page after it', async () => {
    await request(service, JO, '/operator/leads?q=ada%40example.com');
    const { storage } = service.parts;
    const [claimed] = await storage.read((db) => db.selectFrom('messages').selectAll().where('status', '=', 'pending'));
    await storage.write(async (tx) => void (await erasePerson(tx, 'ada@example.com', clock.now())));
    const settings = { operators: [JO], operator: { name: 'Jo', contact: undefined }, baseUrl: service.url };
    expect(claimed).toBeDefined();
    if (claimed) await signInRenderer({ settings, storage, clock })(claimed);
    const links = await storage.read((db) =>
      db.selectFrom('operator_links').select('page').where('message', 'is not', null),
    );
    expect(links.length).toBeGreaterThan(0);
    expect(JSON.stringify(links)).not.toContain('ada');
  });
});
