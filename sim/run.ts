/** One run: several processes of the service, people, and the faults that its seed brings. */

import { createHash } from 'node:crypto';
import { seeded } from '../chaos/random.ts';
import { LEASE_MARGIN_MS } from '../src/actions/executions.ts';
import { RECOVER_EVERY_MS } from '../src/actions/recovery.ts';
import { eraseOutboxOf } from '../src/mail/erasure.ts';
import type { SigningKeys } from '../src/settings/signing-keys.ts';
import { StorageUnavailable } from '../src/storage/database.ts';
import { openInbox } from '../src/upstream/inbox.ts';
import { eraseInboxOf } from '../src/upstream/inbox-erasure.ts';
import { drawChances } from './chances.ts';
import { faultsOf, type Place, type World } from './faults.ts';
import { type Ledger, openLedger } from './ledger.ts';
import { openSimulatedMailer } from './mail.ts';
import { openNetwork } from './network.ts';
import { askOnce, type Crowd, crossKeys, sendLead, subscribe, useAgent } from './people.ts';
import { startProcess, type WallClocks } from './process.ts';
import { checkFinal, checkMails, watch } from './promises.ts';
import { openScheduler } from './scheduler.ts';
import { openService, RETENTION_DAYS } from './service.ts';
import { openStore, type StoreKind } from './store.ts';
import { openSimulatedUpstream } from './upstream.ts';

const UPSTREAM_TIMEOUT_MS = 1_000;
const LEASE_MS = UPSTREAM_TIMEOUT_MS + LEASE_MARGIN_MS;
const DAY_MS = 86_400_000;

/** How long people come and faults strike. */
const FAULTS_FOR_MS = 40_000;

export type Finished = Pick<Ledger, 'violations' | 'trace' | 'faults' | 'answers'> & {
  /** What the run did, whole: the same seed gives the same. */
  digest: string;
};

/** Runs a seed to its end. */
export async function simulate(seed: string, traced: boolean): Promise<Finished> {
  const random = seeded(seed);
  const scheduler = openScheduler();
  const ledger = openLedger(scheduler, traced);
  const chances = drawChances(random.fork('chances'));
  const kind: StoreKind = random.pick(['file', 'server']);
  const embedded = random.chance(0.3);
  const mails = random.chance(0.3);
  const store = openStore(kind, { scheduler, ledger, random: random.fork('store'), chances });
  const watched = watch(store, ledger, embedded);
  const wallClocks: WallClocks = new Map();
  ledger.note(() => `store: ${kind}, destination: ${embedded ? 'embedded' : 'HTTP'}`);

  let ids = 0;
  const newId = () => {
    ids += 1;
    return `00000000-0000-4000-8000-${String(ids).padStart(12, '0')}`;
  };
  const oneMachine = kind === 'file';
  const surroundings = {
    wallClocks,
    scheduler,
    ledger,
    chances,
    faults: true,
    random: random.fork('upstream'),
  };
  const upstreamWorld = {
    ...surroundings,
    timeoutMs: UPSTREAM_TIMEOUT_MS,
    statusOf: watched.statusOf,
  };
  const mailWorld = {
    ...surroundings,
    random: random.fork('mail'),
    underWay: 0,
    isMarked: watched.isMarked,
  };
  let keys = keysAt(0);

  const onError = (error: unknown) => {
    if (!(error instanceof StorageUnavailable)) ledger.violate(0, `unexpected: ${error}`);
  };
  const start = (place: Place) => {
    const process = startProcess(place.name, scheduler, {
      newId,
      wallClocks,
      bootedMs: oneMachine ? 1_000_000 : 1_000_000 * (1 + places.indexOf(place)),
    });
    ledger.note(() => `${place.name} starts`);
    const storage = store.connect(process);
    process.whenKilled(() => {
      ledger.note(() => `${place.name} dies`);
      place.service = undefined;
      scheduler.after(random.between(200, 8_000), () => start(place));
    });
    place.service = openService({
      process,
      storage,
      upstream: embedded
        ? openInbox(storage, process.clock)
        : openSimulatedUpstream(upstreamWorld, process),
      mailer: mails ? openSimulatedMailer(mailWorld, process) : undefined,
      signingKeys: keys,
      upstreamTimeoutMs: UPSTREAM_TIMEOUT_MS,
      onError: (error) => process.isAlive() && onError(error),
    });
  };
  const places: Place[] = Array.from({ length: random.pick([1, 2, 3]) }, (_, index) => ({
    name: `process ${index + 1}`,
    service: undefined,
  }));
  for (const place of places) start(place);

  const crowd: Crowd = {
    scheduler,
    ledger,
    random: random.fork('people'),
    isOver: () => !store.medium.faults,
    call: openNetwork({ scheduler, random: random.fork('calls'), places, onError }),
  };

  const people = new Set<Promise<void>>();
  const enter = (person: () => Promise<void>) => {
    const at = crowd.random.between(0, FAULTS_FOR_MS * 0.8);
    const entered = scheduler.sleep(at).then(person);
    people.add(entered);
    entered.finally(() => people.delete(entered));
  };
  for (let number = 1; number <= random.whole(2, 6); number += 1) {
    enter(() => useAgent(crowd, number));
  }
  enter(() => sendLead(crowd, 1));
  enter(() => crossKeys(crowd));
  if (mails) for (let number = 1; number <= 3; number += 1) enter(() => subscribe(crowd, number));

  const world: World = {
    places,
    wallClocks,
    chances,
    setAway: (away) => {
      store.medium.away = away;
    },
    rotateKeys: (step) => {
      keys = keysAt(step);
      for (const { service } of places) if (service) service.signingKeys = keys;
    },
    erase: () => eraseSomebody(crowd, ledger),
  };
  const faults = faultsOf(world, random.fork('faults'), FAULTS_FOR_MS);
  for (const { at, name, strike } of faults) {
    scheduler.after(at, () => {
      ledger.fault(name);
      strike();
    });
  }

  let over = false;
  scheduler.after(FAULTS_FOR_MS, () => void conclude());
  const conclude = async () => {
    calm();
    await scheduler.sleep(LEASE_MS + RECOVER_EVERY_MS + 1_000);
    while (people.size > 0) await Promise.all(people);
    for (const key of ledger.keys) await askUntilFinal(crowd, key, places);
    checkFinal(store, ledger);
    if (mails) await waitForMails();
    await outliveRetention();
    over = true;
  };
  const calm = () => {
    ledger.note(() => 'the faults stop');
    store.medium.faults = false;
    store.medium.away = false;
    upstreamWorld.faults = false;
    mailWorld.faults = false;
    wallClocks.clear();
    world.rotateKeys(1);
    for (const { service } of places) service?.process.resume();
  };
  /** Leaps from back-off to back-off: nothing else would happen meanwhile. */
  const waitForMails = async () => {
    const pending = () => store.read("select 1 from outbox where status = 'pending'")?.length !== 0;
    for (let leaps = 0; leaps < 12 && pending(); leaps += 1) {
      // What is under way arrives first: a leap would make it later than any server is.
      while (mailWorld.underWay > 0) await scheduler.sleep(100);
      scheduler.leap(leaps < 6 ? 300_000 : DAY_MS / 2);
      await scheduler.sleep(4_000);
    }
    checkMails(store, ledger);
  };
  /** After their retention receipts go, and nothing that is asked again is sent again. */
  const outliveRetention = async () => {
    watched.allowRetention();
    scheduler.leap((RETENTION_DAYS + 1) * DAY_MS);
    await places
      .find(({ service }) => service)
      ?.service?.retain()
      .catch(onError);
    const [key] = ledger.keys;
    if (key !== undefined) await askOnce(crowd, { ...key, receipts: new Set() }, 5_000);
  };

  await scheduler.run(() => over || ledger.violations.length > 0, watched.look);
  if (!over && ledger.violations.length === 0) ledger.violate(7, 'nothing happens any more');
  // With their connections: a database in memory lasts as long as one of them.
  for (const { service } of places) service?.process.kill();
  store.close();
  const { violations, trace, answers } = ledger;
  const digest = digestOf([...answers, ...ledger.deliveries, ...ledger.faults, scheduler.time()]);
  return { violations, trace, faults: ledger.faults, answers, digest };
}

/** Old, then new before old, then new alone. */
function keysAt(step: number): SigningKeys {
  const [old, young] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  return [[old, young], [young, old], [young]][step] ?? [young];
}

async function askUntilFinal(crowd: Crowd, key: Ledger['keys'][number], places: readonly Place[]) {
  key.answer = undefined;
  for (let attempt = 0; attempt < 20 && key.answer === undefined; attempt += 1) {
    await askOnce(crowd, key, 5_000);
    if (key.answer === undefined) await crowd.scheduler.sleep(500);
  }
  // Whichever process is asked, it says the same.
  for (const _ of places) await askOnce(crowd, key, 5_000);
}

async function eraseSomebody(crowd: Crowd, ledger: Ledger): Promise<void> {
  const email = crowd.random.pick(['agent1@x.example', 'lead1@x.example', 'reader1@x.example']);
  ledger.erased.add(email);
  await crowd.call(
    ({ storage }) =>
      storage.write(async (tx) => {
        await eraseInboxOf(tx, email);
        await eraseOutboxOf(tx, email);
        return { kind: 'erased' as const };
      }),
    5_000,
  );
}

function digestOf(seen: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(seen)).digest('hex').slice(0, 16);
}
