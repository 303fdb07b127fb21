/** One run from its first request to its last check. */
import { askForAllAgain, useAgent } from './agents.ts';
import { hammerPreview, sendLead, subscribe } from './browsers.ts';
import { type Apart, check, owedMessages, type StoredExecution } from './checks.ts';
import { type Lane, runLanes } from './faults.ts';
import type { StoredSubmission } from './kept.ts';
import type { Run } from './run.ts';

/** New persons a second: with their retries some 40 requests a second. */
const AGENTS_A_SECOND = 7;
const LEADS_A_SECOND = 2;
const SUBSCRIPTIONS_A_SECOND = 2;
/** Whatever hangs must not become a flood: so many persons wait at once, at most. */
const AT_ONCE_MAXIMUM = 400;

/** Longer than a lease and a sweep: every key must be final by then. */
const FINAL_WITHIN_MS = 60_000;
/**
 * Longer than the shortest back-off of the outbox, than the first redelivery and than the pause of an instance
 * whose redelivery found nobody: after them everything is brought forward.
 */
const LATE_WITHIN_MS = 180_000;

export type Driven = {
  run: Run;
  minutes: number;
  lanes: readonly Lane[];
  hammers: boolean;
  leaseMs: number;
  /** Everything was healed: waits until all of it is ready. */
  ready(): Promise<void>;
  readStored(): Promise<StoredExecution[]>;
  readSubmissions(): Promise<StoredSubmission[]>;
  /** How many messages wait in the outbox. */
  countPending(): Promise<number>;
  /** Makes messages and redeliveries due whose next attempt is far away, and whose last one has ended. */
  bringForward(): Promise<void>;
  say(sentence: string): void;
  /** Called when nothing is left but messages to wait for. */
  calm(): void;
};

/** Drives everybody through the faults, then to their final answers; returns what is counted apart. */
export async function drive(driven: Driven): Promise<Apart> {
  const { run, say } = driven;
  const people = new Set<Promise<void>>();
  const enter = (person: Promise<void>) => {
    const kept = person.finally(() => people.delete(kept));
    people.add(kept);
  };
  const arrivals = [
    arrive(run, people, AGENTS_A_SECOND, () => enter(useAgent(run))),
    arrive(run, people, LEADS_A_SECOND, () => enter(sendLead(run))),
    arrive(run, people, SUBSCRIPTIONS_A_SECOND, () => enter(subscribe(run))),
  ];
  const hammering = driven.hammers ? hammer(run) : undefined;
  const striking = runLanes(run, driven.lanes);
  await new Promise((resolve) => setTimeout(resolve, driven.minutes * 60_000));

  say('the faults stop');
  run.endFaults();
  await Promise.all([...arrivals, striking, hammering]);
  await driven.ready();
  say('everybody asks until the answer is final');
  const late = new Promise<void>((resolve) => {
    setTimeout(resolve, FINAL_WITHIN_MS).unref();
  });
  await Promise.race([allOf(people), late]);
  if (people.size > 0) say(`${people.size} persons have no final answer`);
  // A send that may still be on its way would arrive within a lease.
  await new Promise((resolve) => setTimeout(resolve, driven.leaseMs));
  say('every receipt is asked for again');
  await askForAllAgain(run);
  run.phase = 'over';
  await allOf(people);
  driven.calm();
  await waitForTheLate(driven);
  return check(run.ledger, await driven.readStored(), await driven.readSubmissions());
}

async function allOf(people: ReadonlySet<Promise<void>>): Promise<void> {
  while (people.size > 0) await Promise.all(people);
}

/** An open loop: who comes does not wait for those who are there. */
async function arrive(
  run: Run,
  people: ReadonlySet<unknown>,
  aSecond: number,
  enter: () => void,
): Promise<void> {
  while (run.phase === 'faults') {
    await run.rest((-Math.log(1 - run.random.next()) / aSecond) * 1000);
    if (run.phase === 'faults' && people.size < AT_ONCE_MAXIMUM) enter();
  }
}

async function hammer(run: Run): Promise<void> {
  for (let number = 1; run.phase === 'faults'; number += 1) {
    await hammerPreview(run, number);
    await run.rest(1_000);
  }
}

/** Until every message that is owed and everything kept has arrived, or nothing is left that could. */
async function waitForTheLate({ run, say, ...driven }: Driven): Promise<void> {
  const { ledger } = run;
  const missing = async () => {
    const arrived = new Set(ledger.mails.map(({ address }) => address));
    const owed = owedMessages(ledger).filter((address) => !arrived.has(address));
    const open = (await driven.readSubmissions()).filter(
      ({ origin, status }) => origin === 'browser' && ['sending', 'waiting'].includes(status),
    );
    const hopeless = owed.length > 0 && (await driven.countPending()) === 0;
    return { messages: hopeless ? 0 : owed.length, submissions: open.length };
  };
  const deadline = performance.now() + LATE_WITHIN_MS;
  for (let told = false; ; told = true) {
    const { messages, submissions } = await missing();
    if (messages + submissions === 0 || performance.now() >= deadline) return;
    if (!told) say(`${messages} messages and ${submissions} submissions have not arrived yet`);
    await driven.bringForward();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}
