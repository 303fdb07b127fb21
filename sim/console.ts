/** The operator console of a simulated process: sign-in, and the buttons of the leads (reference §12.14, §12.16). */
import { type Commit, committer } from '../src/console/audit.ts';
import { confirmationsPage } from '../src/console/confirmations-page.ts';
import { leadsPage } from '../src/console/leads.ts';
import { makeLink } from '../src/console/links.ts';
import type { ChangeParts, ChangeRequest, ConsoleParts, PageRequest } from '../src/console/page.ts';
import { openSessions } from '../src/console/sessions.ts';
import { linkRequests } from '../src/console/sign-in-mail.ts';
import { timesIn } from '../src/console/times.ts';
import { changeLeads, changeNote, changeProgress, undoChange } from '../src/console/work.ts';
import type { OpenTransaction } from '../src/storage/database.ts';
import type { SubmissionRow } from '../src/storage/schema.ts';
import type { Ledger } from './ledger.ts';
import { OPERATOR, settings } from './messages.ts';

const buttons = { progress: changeProgress, bulk: changeLeads, undo: undoChange, note: changeNote } as const;
export type Button = keyof typeof buttons;

/** Opens the console of a process. It renders no page. */
export function openDesk(
  given: Pick<ConsoleParts, 'storage' | 'clock' | 'newId' | 'log' | 'credentials' | 'executions'>,
  ledger: Ledger,
) {
  const { storage, clock } = given;
  const sessions = openSessions(given);
  const parts = { ...given, settings, sessions, reader: storage, scrubbing: { soon: () => {} }, forms: [] };
  const requestLink = linkRequests({ settings, ...given });
  const request = () => {
    const [path, times] = ['/operator/leads', timesIn('UTC')];
    return { path, here: path, returnTo: path, query: new URLSearchParams(), now: clock.now(), times };
  };
  return {
    async requestLink(page: string) {
      await requestLink({ email: OPERATOR, page });
      return { kind: 'requested' as const };
    },

    /** Prints a link, as `npm run operator -- link --name` does, and returns its token. */
    async printLink(name: string) {
      const url = await makeLink(storage, { name, now: clock.now(), baseUrl: settings.baseUrl });
      return { kind: 'printed' as const, token: tokenIn(url) };
    },

    async signIn(token: string) {
      const signedIn = await sessions.signIn(token, undefined);
      return signedIn ? { kind: 'signedIn' as const, cookie: signedIn.token } : { kind: 'refused' as const };
    },

    /** Uses a button of a lead or of the list, with the session of a cookie. */
    async press(cookie: string, button: Button, form: [name: string, value: string][], id?: string) {
      const session = await sessions.find(cookie);
      if (session === undefined) return { kind: 'noSession' as const };
      const typed = new URLSearchParams(form);
      const all = (name: string) => typed.getAll(name);
      const commit = judging(committer(given), button, session.digest, ledger);
      const sent = { sent: (name: string) => (all(name).length === 1 ? typed.get(name) : null), sentAll: all };
      const pressed = { ...request(), ...sent, session, values: { id }, commit } satisfies ChangeRequest;
      return await buttons[button](parts as unknown as ChangeParts, pressed);
    },

    /** Returns the rows of the lists of leads and of confirmations, as their pages show them. */
    async lists(): Promise<{ kind: 'lists'; rows: unknown[] }> {
      const asked = { ...request(), values: {}, record: async () => '' } as unknown as PageRequest;
      const pages = [leadsPage, confirmationsPage].map((page) => page(parts as unknown as ConsoleParts, asked));
      const answers = await Promise.all(pages);
      return {
        kind: 'lists',
        rows: answers.map((answer) => answer.kind === 'page' && { rows: [], ...answer.data }.rows),
      };
    },
  };
}

export type Desk = ReturnType<typeof openDesk>;

/** Returns the token at the end of a sign-in link. */
export function tokenIn(text: string): string {
  return /\/operator\/sign-in\/([\w-]{22})/.exec(text)?.[1] ?? '';
}

type Row = SubmissionRow & Record<string, unknown>;
type Undo = { to: string; previous: { id: string; progress: string }[] };

/** Returns the commit of a change, which is compared with the rows before it in the same transaction: invariant 16. */
function judging(commit: Commit, button: Button, session: string, ledger: Ledger): Commit {
  const rowsOf = (tx: OpenTransaction) =>
    tx.selectFrom('submissions').selectAll().orderBy('id').execute() as unknown as Promise<Row[]>;
  return (change, options) =>
    commit(async (tx) => {
      const before = await rowsOf(tx);
      const of = tx.selectFrom('operator_sessions').select('undo').where('digest', '=', session);
      const { undo } = (await of.executeTakeFirst()) ?? { undo: null };
      const changed = await change(tx);
      const after = new Map((await rowsOf(tx)).map((row) => [row.id, row]));
      const pairs = before.map((row) => [row, after.get(row.id) ?? row] as const);
      const fault =
        after.size === before.length
          ? faultOf(button, pairs, undo === null ? undefined : JSON.parse(undo))
          : 'a row is gone';
      if (fault !== undefined) ledger.violate(16, `${button}: ${fault}`);
      const isChanged = pairs.some(([one, other]) => differing(one, other).length > 0);
      if (isChanged && !('entry' in changed)) ledger.violate(16, `${button}: it has no entry in the audit`);
      return changed;
    }, options);
}

/** Columns that a button may change. Spam and a resend also concern the delivery, which the watch of the rows checks. */
const MAY_CHANGE: Readonly<Record<Button, readonly string[]>> = {
  progress: ['progress'],
  bulk: ['progress'],
  undo: ['progress'],
  note: ['note'],
};

function faultOf(button: Button, pairs: (readonly [Row, Row])[], undo: Undo | undefined): string | undefined {
  for (const [before, after] of pairs) {
    const { id, progress } = after;
    const names = differing(before, after);
    const endsDelivery = button !== 'undo' && button !== 'note' && progress === 'spam';
    const isResend = button === 'bulk' && names.join() === 'resend_asked_ms';
    const others = names.filter((name) => !MAY_CHANGE[button].includes(name));
    if (others.length > 0 && !endsDelivery && !isResend) return `${id} has another ${others.join(', ')}`;
    if (button !== 'undo' || !names.includes('progress')) continue;
    const previous = undo?.previous.find((each) => each.id === id);
    if (before.progress !== undo?.to) return `${id} was ${before.progress} by another change`;
    if (progress !== previous?.progress) return `${id} was ${previous?.progress}, and is ${progress}`;
  }
  return undefined;
}

function differing(before: Row, after: Row): string[] {
  return Object.keys(before).filter((name) => before[name] !== after[name]);
}
