/** Draws the people of a run, and when they come. */
import type { Random } from '../chaos/random.ts';
import type { Crowd } from './asking.ts';
import type { Extras } from './extras.ts';
import { connectHost } from './hosts.ts';
import { leave } from './leaving.ts';
import type { MailWorld } from './mail.ts';
import { crossKeys } from './mistakes.ts';
import { useAgent } from './people.ts';
import { confirmByPage } from './pressing.ts';
import { type drawTests, testInSandbox } from './testing.ts';
import { sendLead, subscribe } from './visitors.ts';
import { type Office, requestLinks, usePrintedLink } from './working.ts';

/** Numbers of messages per minute that the outbox may send. The small one is below the number that a run needs. */
export const SMALL_BUDGET = 2;
export const LARGE_BUDGET = 1_000;

/** Adds a person, for whose end the run waits. */
export type Join = (person: Promise<void>) => void;

type Entrance = {
  embedded: boolean;
  random: Random;
  crowd: Crowd;
  /** The surroundings of the extras, with their own random numbers. */
  office: Office;
  join: Join;
  tests: ReturnType<typeof drawTests>;
  extras: Extras;
  /** Undefined if the run sends no messages. */
  mailWorld: MailWorld | undefined;
  /** Duration of the phase with new people, in milliseconds. */
  faultsForMs: number;
};

export function enterPeople({
  embedded,
  random,
  crowd,
  office,
  join,
  tests,
  extras,
  mailWorld,
  faultsForMs,
}: Entrance): void {
  const { store } = office;
  const enter = (person: () => Promise<void>) => {
    const at = crowd.random.between(0, faultsForMs * 0.8);
    join(crowd.scheduler.sleep(at).then(person));
  };
  for (let number = 1; number <= random.whole(2, 6); number += 1) enter(() => useAgent(crowd, number));
  for (let number = 1; number <= random.whole(1, 4); number += 1) enter(() => sendLead(crowd, number));
  for (const number of [1, 2, 3]) if (random.chance(0.5)) enter(() => confirmByPage(crowd, number));
  enter(() => crossKeys(crowd));
  for (const number of tests.numbers) join(testInSandbox({ ...crowd, random: tests.random }, number));
  if (mailWorld !== undefined) {
    const subscribers = random.whole(2, mailWorld.perMinute === SMALL_BUDGET ? 14 : 5);
    for (let number = 1; number <= subscribers; number += 1) {
      enter(() => subscribe(crowd, store, number));
    }
  }

  for (let number = 1; number <= extras.operators; number += 1) join(usePrintedLink(office, number));
  if (extras.operators > 0 && mailWorld !== undefined) join(requestLinks(office));
  for (let number = 1; number <= extras.hosts; number += 1) join(connectHost(office.crowd, number));
  if (extras.leaves) {
    join(leave(office.crowd, store, { embedded, mails: mailWorld !== undefined, hasTester: tests.chosen }));
  }
}
