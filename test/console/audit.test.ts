/** A change and its audit entry commit together, so that no change lacks an entry (reference §12.12). */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { AuditAction } from '../../src/console/audit.ts';
import type { Route } from '../../src/route-groups.ts';
import { routes } from '../../src/routes.ts';
import type { Storage } from '../../src/storage/database.ts';
import { tables } from '../../src/storage/schema.ts';
import { pending } from '../confirmations/rig.ts';
import { connectionRow, keepConnections } from '../oauth/rig.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import type { Service } from '../support/service.ts';
import { keepRows, recentRow } from '../support/submissions.ts';
import { linkFor, type Operator, operatorWith, signIn, startWithConsole } from './operator.ts';

const LEAD = '0190a000-0000-7000-8000-00000000abcd';
const CONNECTION = connectionRow();
const UNDO = JSON.stringify({ key: 'k', to: 'won', previous: [{ id: LEAD, progress: 'new' }] });

/** Every button of the console, with its route, its form fields and the action of its audit entry. */
const presses: [name: string, route: keyof typeof routes, form: Record<string, string>, what: AuditAction][] = [
  ['Resend', 'changeLead', { do: 'resend' }, 'resent'],
  ['Dismiss', 'changeLead', { do: 'dismiss', reason: 'answered' }, 'dismissed'],
  ['Spam', 'changeLead', { do: 'spam' }, 'marked_spam'],
  ['Progress', 'changeProgress', { progress: 'answered' }, 'marked'],
  ['Note', 'changeNote', { note: 'Call at 5' }, 'noted'],
  ['Progress of several leads', 'changeLeads', { do: 'lost', id: LEAD }, 'marked'],
  ['Resend of several leads', 'changeLeads', { do: 'resend', id: LEAD }, 'resent'],
  ['Undo', 'undoChange', { change: 'k' }, 'undid'],
  ['Seen', 'seeReports', { do: 'seen', until: '2100-01-01T00:00:00.000Z' }, 'saw_report'],
  ['Delete', 'changePerson', { do: 'delete' }, 'deleted_person'],
  ['Resend of a message', 'changeMessage', { do: 'resend', kind: 'notice', key: 'dead' }, 'resent_message'],
  ['Issue', 'changeAgents', { do: 'issue', name: 'bee', scope: 'lead:preview' }, 'issued'],
  ['Rotate', 'changeAgents', { do: 'rotate', name: 'acme', overlap: '1h' }, 'rotated'],
  ['Revoke', 'changeAgents', { do: 'revoke', name: 'other' }, 'revoked'],
  ['Disconnect', 'changeConnections', { do: 'disconnect', id: CONNECTION.id }, 'disconnected'],
  ['Sign out', 'signOut', { do: 'sign-out' }, 'signed_out'],
  ['Sign out everywhere', 'signOut', { do: 'sign-out-everywhere' }, 'signed_out_everywhere'],
  ['Sign in', 'signIn', {}, 'signed_in'],
];

test('these tests cover every POST route of the console', () => {
  const posts = Object.entries<Route>(routes).flatMap(([name, { group, method }]) =>
    group === 'console' && method === 'POST' ? [name] : [],
  );
  expect(new Set(presses.map(([, route]) => route))).toEqual(new Set([...posts, 'signIn']));
});

/** Makes the store fail at every new audit entry. */
async function breakAudit({ kind, write }: Storage): Promise<void> {
  await write(async (tx) => {
    if (kind === 'postgres') {
      await sql`create function broken() returns trigger language plpgsql as
        $$ begin raise exception 'full' using errcode = '53100'; end $$`.execute(tx);
      await sql`create trigger broken before insert on operator_audit
        for each row execute function broken()`.execute(tx);
    } else {
      // A value that is too big counts as a fault of the store, unlike a constraint error.
      await sql`create trigger broken before insert on operator_audit
        begin select zeroblob(2147483647); end`.execute(tx);
    }
  });
}

async function mendAudit({ kind, write }: Storage): Promise<void> {
  await write(async (tx) => {
    if (kind === 'postgres') await sql`drop function broken() cascade`.execute(tx);
    else await sql`drop trigger broken`.execute(tx);
  });
}

describe.each(databases)('console audit, on %s', (_name, create) => {
  let database: TestDatabase;
  let service: Service;
  let operator: Operator;
  let lead: ReturnType<typeof recentRow>;
  beforeAll(async () => {
    database = await create();
    service = await startWithConsole({
      environment: { DATABASE_URL: database.url, REDELIVERY: 'off' },
    });
  });
  afterAll(async () => {
    await service.close();
    await database.remove();
  });
  beforeEach(async () => {
    const { storage } = service.parts;
    await storage.write(async (tx) => {
      await tx.deleteFrom('submissions').execute();
      await tx.deleteFrom('messages').execute();
      await tx.deleteFrom('oauth_connections').execute();
    });
    await keepConnections(service, CONNECTION);
    lead = recentRow({ id: LEAD, progress: 'won', status: 'undelivered', reason: 'attempts_used_up' });
    await keepRows(storage, [lead]);
    await storage.write(async (tx) => {
      const report = {
        client: 'acme',
        mailbox_digest: 'd',
        reported_at: '2026-11-19T09:00:00.000Z',
        seen: 0,
        sandbox: 0,
      } as const;
      await tx.deleteFrom('confirmation_reports').execute();
      await tx.insertInto('confirmation_reports').values(report).execute();
    });
    await pending(service);
    const at = new Date().toISOString();
    const later = '2100-01-01T00:00:00.000Z';
    await storage.write((tx) =>
      tx
        .insertInto('messages')
        .values({
          kind: 'notice',
          key: 'dead',
          address: null,
          about: null,
          priority: 2,
          message_id: '<dead@x.example>',
          status: 'dead',
          requested_at: at,
          attempts: 7,
          next_attempt_at: later,
          last_attempt_at: at,
          attempt_started_ms: 1,
        })
        .execute(),
    );
    operator = await signIn(service);
    await storage.write((tx) => tx.updateTable('operator_sessions').set({ undo: UNDO }).execute());
  });

  /** Returns all rows of all tables, and the files of the folder of the credentials file with its text. */
  async function everything(): Promise<Record<string, unknown[]>> {
    const { storage } = service.parts;
    const all: Record<string, unknown[]> = {};
    for (const table of tables) {
      // The migrator's own tables are not part of the schema.
      if (table.startsWith('kysely')) continue;
      all[table] = await storage.read((db) => db.selectFrom(table as 'messages').selectAll());
    }
    const folder = dirname(service.settings.credentialsFile ?? '');
    all.files = readdirSync(folder).filter((name) => name.startsWith('agents.json'));
    all.credentials = [readFileSync(join(folder, 'agents.json'), 'utf8')];
    return all;
  }
  const pathOf = (route: keyof typeof routes, link: string) =>
    route === 'signIn' ? link : routes[route].path.replace(':id', lead.id);

  describe('while no audit entry can be written', () => {
    let link: string;
    let before: Record<string, unknown[]>;
    beforeEach(async () => {
      link = await linkFor(service);
      before = await everything();
      await breakAudit(service.parts.storage);
    });
    afterEach(() => mendAudit(service.parts.storage));

    test.each(presses)('%s returns 503 and changes nothing', async (_press, route, form) => {
      const who = route === 'signIn' ? operatorWith(service, '') : operator;
      const answer = await who.press(pathOf(route, link), form);
      expect([answer.status, answer.headers.get('set-cookie')]).toEqual([503, null]);
      expect(answer.text).toContain('The service can’t reach its database right now.');
      expect(await everything()).toEqual(before);
    });
  });

  test.each(presses)('%s writes one entry to the audit', async (_press, route, form, what) => {
    const { storage } = service.parts;
    const link = await linkFor(service);
    const who = route === 'signIn' ? operatorWith(service, '') : operator;
    const entries = () => storage.read((db) => db.selectFrom('operator_audit').select(['id', 'what']).orderBy('id'));
    const before = (await entries()).map(({ id }) => id);
    // A new token is shown at once, in the answer.
    const status = form.do === 'issue' || form.do === 'rotate' ? 200 : 303;
    expect((await who.press(pathOf(route, link), form)).status).toBe(status);
    expect((await entries()).filter(({ id }) => !before.includes(id)).map((entry) => entry.what)).toEqual([what]);
  });
});
