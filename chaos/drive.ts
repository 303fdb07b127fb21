/** Drives one run from its first request to its last check. */
import { executeAllAgain, useAgent } from './agents.ts';
import { hammerPreview, sendLead, subscribe } from './browsers.ts';
import { type Apart, check, owedMessages, type StoredExecution } from './checks.ts';
import { type Lane, runLanes } from './faults.ts';
import type { StoredSubmission } from './kept.ts';
import type { Run } from './run.ts';

/** Number of new persons per second. With retries, these persons send about 40 requests per second. */
const AGENTS_A_SECOND = 7;
const LEADS_A_SECOND = 2;
const SUBSCRIPTIONS_A_SECOND = 2;
/** Highest number of persons at a time, so that a hanging service does not cause a flood of requests. */
const AT_ONCE_MAXIMUM = 400;

/** Time in which every key must become final. This time exceeds a lease and a sweep. */
const FINAL_WITHIN_MS = 60_000;
/**
 * Limit for late messages and submissions. This limit exceeds the shortest back-off of the outbox, the first
 * redelivery, and the pause of redelivery after an attempt without a response. Later attempts are brought forward.
 */
const LATE_WITHIN_MS = 180_000;

export type Driven = {
  run: Run;
  minutes: number;
  lanes: readonly Lane[];
  hammers: boolean;
  leaseMs: number;
  /** Waits until everything is ready after the faults. */
  ready(): Promise<void>;
  readStored(): Promise<StoredExecution[]>;
  readSubmissions(): Promise<StoredSubmission[]>;
  /** Returns the number of pending messages in the outbox. */
  countPending(): Promise<number>;
  /** Makes messages and redeliveries due if their next attempt is far away and their last attempt has ended. */
  bringForward(): Promise<void>;
  say(sentence: string): void;
  /** Called when only messages and redeliveries are still missing. */
  calm(): void;
};

/**
 * Drives all persons through the faults, then to their final answers. Returns the observations that are counted
 * separately.
 */
export async function drive(driven: Driven): Promise<Apart> {
  const { run, say } = driven;
  const people = new Set<Promise<void>>();
  const enter = (person: Promise<void>) => {
    const tracked = person.finally(() => people.delete(tracked));
    people.add(tracked);
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
  // A send that is still in transit arrives within a lease.
  await new Promise((resolve) => setTimeout(resolve, driven.leaseMs));
  say('every receipt is asked for again');
  await executeAllAgain(run);
  run.phase = 'over';
  await allOf(people);
  driven.calm();
  await waitForTheLate(driven);
  return check(run.ledger, await driven.readStored(), await driven.readSubmissions());
}

async function allOf(people: ReadonlySet<Promise<void>>): Promise<void> {
  while (people.size > 0) await Promise.all(people);
}

/** Starts persons at random times, as an open loop. A new person does not wait until earlier persons have finished. */
async function arrive(run: Run, people: ReadonlySet<unknown>, aSecond: number, enter: () => void): Promise<void> {
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

/**
 * Waits until all owed messages have arrived and all stored submissions have ended. Stops waiting for messages that can
 * no longer arrive.
 */
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
  for (let isSaid = false; ; isSaid = true) {
    const { messages, submissions } = await missing();
    if (messages + submissions === 0 || performance.now() >= deadline) return;
    if (!isSaid) say(`${messages} messages and ${submissions} submissions have not arrived yet`);
    await driven.bringForward();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}
