/**
 * The interface of a console page: a function from a request to an answer. To add a page, add such a function, its entry
 * in the table of `console.ts`, and a template in `templates/`. The page also needs a route of the group `console` in
 * `src/routes.ts`, a link in `navigation` (`templates.ts`) and an action in `audit.ts`. Reference §12.5 lists the routes,
 * and §12.12 the actions. `console.ts` checks session, method, origin and age of the sign-in before it calls the
 * function. Templates escape every value.
 *
 *     export async function agentsPage({ storage }: ConsoleParts, { record }: PageRequest): Promise<Answer> {
 *       const clients = await agentsOf(storage);
 *       await record('saw_agents'); // before the page shows anything that somebody typed
 *       return { kind: 'page', title: 'Agents', template: 'agents', data: { clients } };
 *     }
 *
 * A function that changes something gets a `ChangeRequest`. Such a function writes only through `commit`, which adds
 * the audit entry in the same transaction.
 */
import type { Executions } from '../actions/executions.ts';
import type { Credentials } from '../credentials/file.ts';
import type { ConsoleRefusal } from '../failures/refusals.ts';
import type { Form } from '../forms/catalog.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { Settings } from '../settings/settings.ts';
import type { Frame } from '../site/layout.ts';
import type { ReadOnly, Storage } from '../storage/database.ts';
import type { Scrubbing } from '../storage/scrubbing.ts';
import type { About, AuditAction, Commit } from './audit.ts';
import type { Session, Sessions } from './sessions.ts';
import type { Times } from './times.ts';

export type GivenParts = {
  settings: Settings;
  storage: Storage;
  /** Runs the reads of lists, searches and statistics, which can take long. */
  reader: ReadOnly;
  scrubbing: Pick<Scrubbing, 'soon'>;
  clock: Clock;
  newId: () => string;
  log: Log;
  credentials: Credentials;
  executions: Pick<Executions, 'findByAction'>;
  /** Forms with the operator's own labels. */
  forms: readonly Form[];
  frame(): Frame;
};

export type ConsoleParts = GivenParts & { sessions: Pick<Sessions, 'active' | 'signOut' | 'signOutEverywhere'> };

export type PageRequest = {
  session: Session;
  /** Path of the request. */
  path: string;
  /** Values of the path's parameters, as they were sent. */
  values: Readonly<Record<string, string | undefined>>;
  query: URLSearchParams;
  /** Path and query of this page, to which its forms return. */
  here: string;
  now: Date;
  /** Times in the operator's zone. */
  times: Times;
  /** Writes an audit entry and returns its id. A page awaits it before it shows anything. */
  record(what: AuditAction, about?: About): Promise<string>;
};

export type ChangeRequest = Omit<PageRequest, 'record'> & {
  /** Returns a value of the posted form, or null unless the name came exactly once. */
  sent(name: string): string | null;
  /** Returns all values of a name in the posted form. */
  sentAll(name: string): string[];
  /** Page that the form was on (reference §12.15). */
  returnTo: string;
  commit: Commit;
};

/** The storage has no `write`, so that a change and its audit entry commit together. */
export type ChangeParts = Omit<ConsoleParts, 'storage'> & { storage: ReadOnly & Pick<Storage, 'scrubLockMs'> };

export type Answer =
  /** The template also gets `path`, `here` and `zone`. */
  | { kind: 'page'; title: string; template: string; data: object; status?: 400 }
  /** An answer for the script of a page. */
  | { kind: 'json'; value: object }
  /** A redirect with 303. */
  | { kind: 'done'; to: string }
  /** A redirect to the first page, which deletes the cookie. */
  | { kind: 'signedOut' }
  /** A download. `name` is its file name, in plain ASCII. */
  | { kind: 'file'; name: string; type: string; text: AsyncIterable<string> }
  | ConsoleRefusal;

type Read = (parts: ConsoleParts, request: PageRequest) => Promise<Answer>;
type Change = (parts: ChangeParts, request: ChangeRequest) => Promise<Answer>;

/** The function behind a route: `read` for GET, `change` for POST. */
export type ConsolePage = ({ read: Read; change?: never } | { change: Change; read?: never }) & {
  /** Returns true for exports, deletions and changes of clients, which need a sign-in within the last hour. */
  needsFreshSession?: (request: PageRequest) => boolean;
  /** True for a request of a script, which neither extends the session nor shows the result of a change. */
  isBackground?: true;
  /** Returns the page with the form, for the path of a POST (default: `pageOfForm`). */
  formPage?: (path: string) => string;
};
