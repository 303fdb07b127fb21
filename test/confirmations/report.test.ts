/** A report ends the other requests of that client for that mailbox (reference §6.14), on both databases. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { previewId } from '../support/agent.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { askToConfirm, lookAt, openPage, pending, pressButton, tokenIn } from './rig.ts';

describe.each(databases)('report of a client, on %s', (_name, create) => {
  let database: TestDatabase;
  let mail: MailServer;
  let one: Service;
  let other: Service;
  beforeAll(async () => {
    database = await create();
    mail = await startMailServer();
    const environment = {
      DATABASE_URL: database.url,
      SMTP_URL: mail.url,
      ALERT_EMAIL: 'alerts@paint.example',
    };
    [one, other] = await Promise.all([startService({ environment }), startService({ environment })]);
  });
  afterAll(async () => {
    await Promise.all([one.close(), other.close()]);
    await mail.close();
    await database.remove();
  });

  type Of = { token?: string; via?: string };
  const contact = (email: string, of: Of = {}) =>
    pending(one, {
      action: 'contact',
      fields: { name: 'Ada', email, subject: 's', message: 'm' },
      ...of,
    });
  const quote = (email: string, of: Of = {}) =>
    pending(one, { fields: { name: 'Ada', email, postal_code: '94110' }, ...of });
  const statusOf = async (id: string, token: string = tokens.both) =>
    (await lookAt(other, id, { token })).body.confirmation.status;
  const submissionsOf = (id: string) =>
    one.parts.storage.read((db) => db.selectFrom('submissions').select('id').where('id', '=', id));
  const codes = () =>
    one.parts.storage.read((db) => db.selectFrom('messages').select('key').where('kind', '=', 'code'));

  test('ends every pending confirmation of the client for the mailbox, and no other confirmations', async () => {
    const first = await contact('Everyone@example.com');
    const second = await quote('everyone+tag@example.com');
    const ofAnother = await quote('everyone@example.com', { token: tokens.other });
    const elsewhere = await contact('someone@example.com');
    const opened = tokenIn((await openPage(one, second.path)).text);

    expect((await pressButton(one, first.path, 'report')).status).toBe(303);
    expect(await Promise.all([first.id, second.id, elsewhere.id].map((id) => statusOf(id)))).toEqual([
      'reported',
      'reported',
      'pending',
    ]);
    expect(await statusOf(ofAnother.id, tokens.other)).toBe('pending');
    const kept = await one.parts.storage.read((db) =>
      db.selectFrom('confirmations').select(['fields', 'email']).where('id', 'in', [first.id, second.id]),
    );
    const empty = { fields: null, email: null };
    expect(kept).toEqual([empty, empty]);

    // The page of the other request was open the whole time.
    const pressed = await pressButton(other, second.path, 'send', { token: opened ?? '' });
    expect(pressed.status).toBe(303);
    expect(await submissionsOf(second.id)).toEqual([]);
    expect((await openPage(other, second.path)).text).toContain('Not sent, and reported');
  });

  test('stops codes for another pending confirmation of the client', async () => {
    const first = await contact('coded@example.com');
    const second = await quote('coded@example.com', { via: 'page_email' });
    await pressButton(one, first.path, 'report');
    const before = await codes();
    expect((await pressButton(other, second.path, 'code')).status).toBe(303);
    expect(await codes()).toEqual(before);
    expect(await statusOf(second.id)).toBe('reported');
  });

  test('causes one alert and one log line, even if it ends several confirmations', async () => {
    const alertsOf = async () => {
      await one.parts.alerts.run();
      const [row] = await one.parts.storage.read((db) =>
        db.selectFrom('mail_hours').select('counted').where('kind', '=', 'reported'),
      );
      return JSON.parse(row?.counted ?? '{}').acme ?? 0;
    };
    const before = await alertsOf();
    const linesBefore = one.logs.filter((line) => line.includes('confirmation reported')).length;
    const first = await contact('once@example.com');
    await quote('once@example.com');
    await pressButton(one, first.path, 'report');
    const lines = one.logs.filter((line) => line.includes('confirmation reported'));
    expect(lines).toHaveLength(linesBefore + 1);
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ confirmationId: first.id, ended: 2 });
    expect(await alertsOf()).toBe(before + 1);
  });

  test('a stored report forbids submission and code, also for a confirmation that is still pending', async () => {
    const { storage } = one.parts;
    const { id, path } = await quote('older@example.com', { via: 'page_email' });
    const plain = await contact('older@example.com');
    const page = tokenIn((await openPage(one, plain.path)).text) ?? '';
    // The test writes the rows itself, because a report ends every open request.
    await storage.write(async (tx) => {
      const row = await tx
        .selectFrom('confirmations')
        .select(['client', 'mailbox_digest'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      await tx
        .insertInto('confirmation_reports')
        .values({ ...row, reported_at: new Date().toISOString(), seen: 0, sandbox: 0 })
        .execute();
    });
    const before = await codes();
    await pressButton(one, plain.path, 'send', { token: page });
    await pressButton(one, path, 'code');
    expect([await submissionsOf(plain.id), await codes()]).toEqual([[], before]);
  });

  describe('at the same moment as another event', () => {
    const TIMES = 40;
    const AT_ONCE = 8;

    let people = 0;
    /** Returns two requests of one client for one mailbox. The page of the second is open. */
    async function two() {
      people += 1;
      const email = `pair-${people}@example.com`;
      const token = people % 2 ? tokens.both : tokens.other;
      const first = await contact(email, { token });
      const second = await quote(email, { token });
      const page = tokenIn((await openPage(other, second.path)).text) ?? '';
      return { email, token, first, second, page };
    }
    type Two = Awaited<ReturnType<typeof two>>;

    async function race(run: (of: Two) => Promise<unknown>, look: (of: Two) => Promise<void>) {
      for (let done = 0; done < TIMES; done += AT_ONCE) {
        const all = await Promise.all(Array.from({ length: AT_ONCE }, two));
        await Promise.all(all.map(run));
        for (const each of all) await look(each);
      }
    }

    test('if send is clicked for another confirmation, that confirmation is sent or ends as reported', async () => {
      await race(
        ({ first, second, page }) =>
          Promise.all([
            pressButton(one, first.path, 'report'),
            pressButton(other, second.path, 'send', { token: page }),
          ]),
        async ({ first, second, token }) => {
          expect(await statusOf(first.id, token)).toBe('reported');
          const status = await statusOf(second.id, token);
          expect(['submitted', 'reported']).toContain(status);
          expect((await submissionsOf(second.id)).length).toBe(status === 'submitted' ? 1 : 0);
        },
      );
    });

    test('if two confirmations are reported, both end as reported', async () => {
      await race(
        ({ first, second }) =>
          Promise.all([pressButton(one, first.path, 'report'), pressButton(other, second.path, 'report')]),
        async ({ first, second, token }) => {
          expect(await statusOf(first.id, token)).toBe('reported');
          expect(await statusOf(second.id, token)).toBe('reported');
        },
      );
    });

    test('if the client requests another confirmation, the request gets 403 or ends as reported', async () => {
      const answers = new Map<Two, Awaited<ReturnType<typeof askToConfirm>>>();
      await race(
        async (of) => {
          const preview = await previewId(one, 'newsletter', { email: of.email });
          const [asked] = await Promise.all([
            askToConfirm(other, preview, { token: of.token }),
            pressButton(one, of.first.path, 'report'),
          ]);
          answers.set(of, asked);
        },
        async (of) => {
          const asked = answers.get(of);
          if (asked?.status === 403) return;
          expect(asked?.status).toBe(201);
          expect(await statusOf(asked?.body.confirmation.id, of.token)).toBe('reported');
        },
      );
    });
  });
});
