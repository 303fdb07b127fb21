/**
 * What a page of the console is: one function, from who looks at what to an answer. A further page is such a
 * function, a row in `pages.ts` (which path it answers), a template in `templates/`, and its route in
 * `src/routes.ts` in the group `console`. All that comes before it (session, method, whose press, how young the
 * link is) is the chain of `console.ts`, and every text that it puts into a template is escaped there:
 *
 *     export async function agentsPage({ storage }: ConsoleParts, { now, record }: Visit): Promise<Answer> {
 *       const clients = await agentsOf(storage);
 *       await record('saw_agents'); // where it shows what was typed by somebody, before it is shown
 *       return { kind: 'page', title: 'Agents', main: render('agents', { clients }) };
 *     }
 */
import type { Executions } from '../actions/executions.ts';
import type { Clock } from '../clock.ts';
import type { Credentials } from '../credentials/file.ts';
import type { ConsoleRefusal } from '../failures/refusals.ts';
import type { Form } from '../forms/catalog.ts';
import type { Log } from '../operations/log.ts';
import type { Settings } from '../settings/settings.ts';
import type { Frame } from '../site/layout.ts';
import type { Storage } from '../storage/database.ts';
import type { DailyCounts } from '../submissions/daily-counts.ts';
import type { About, Deed } from './audit.ts';
import type { Session, Sessions } from './sessions.ts';

/** What the room is opened with. */
export type GivenParts = {
  settings: Settings;
  storage: Storage;
  clock: Clock;
  newId: () => string;
  log: Log;
  credentials: Credentials;
  executions: Pick<Executions, 'findByAction'>;
  /** As people are asked here: with the operator's labels. */
  forms: readonly Form[];
  /** Whether anybody but operators waits for an answer: what looks long gives way to them. */
  othersWait(): boolean;
  frame(): Frame;
};

export type ConsoleParts = GivenParts & {
  dailyCounts: DailyCounts;
  sessions: Pick<Sessions, 'active'>;
};

export type Visit = {
  session: Session;
  /** What stands for the parameters of the path, as it was sent. */
  values: Readonly<Record<string, string | undefined>>;
  query: URLSearchParams;
  now: Date;
  /** Writes down that this operator does it now; awaited before anything is shown. The id of the entry. */
  record(what: Deed, about?: About): Promise<string>;
};

/** A press has one value of each name; null where the name came not once. */
export type Press = Visit & { sent(name: string): string | null };

export type Answer =
  /** `main` is HTML, from a template. */
  | { kind: 'page'; title: string; main: string }
  /** 303 to there. */
  | { kind: 'done'; to: string }
  /** A download; `name` is its file name, in plain ASCII. */
  | { kind: 'file'; name: string; type: string; text: AsyncIterable<string> }
  | ConsoleRefusal;

type Look = (parts: ConsoleParts, visit: Visit) => Promise<Answer>;
type Change = (parts: ConsoleParts, press: Press) => Promise<Answer>;

/** What answers a route behind the session. */
export type ConsolePage = {
  look?: Look;
  change?: Change;
  /** Whether it takes data away: then the link must be younger than an hour. */
  takesAway?: (visit: Visit) => boolean;
};
