/** Runs one simulation: several processes of the service, people, and the faults of its seed. */

import { createHash } from 'node:crypto';
import { seeded } from '../chaos/random.ts';
import { RECOVER_EVERY_MS } from '../src/actions/recovery.ts';
import type { SigningKeys } from '../src/settings/signing-keys.ts';
import { StorageUnavailable } from '../src/storage/database.ts';
import { LEASE_MARGIN_MS } from '../src/submissions/lead-store.ts';
import { conclude } from './afterwards.ts';
import type { Crowd } from './asking.ts';
import { drawChances } from './chances.ts';
import { enterPeople, type Join, LARGE_BUDGET, SMALL_BUDGET } from './entering.ts';
import { drawExtras } from './extras.ts';
import { faultsOf, type World } from './faults.ts';
import { openFence } from './fence.ts';
import { countedIds } from './ids.ts';
import { checkFiles } from './leaving.ts';
import { type Ledger, openLedger } from './ledger.ts';
import { type MailWorld, openSimulatedMailer } from './mail.ts';
import { openNetwork } from './network.ts';
import { dismissOne, eraseSomebody, resendSome } from './operator.ts';
import { type Place, placesOf } from './places.ts';
import { startProcess } from './process.ts';
import { watch } from './promises.ts';
import { openReceiptReading } from './receipts.ts';
import { openScheduler } from './scheduler.ts';
import { openService } from './service.ts';
import { openStore, type StoreKind } from './store.ts';
import { drawTests, SANDBOX_LEASE_MS } from './testing.ts';
import { noting, openSimulatedUpstream, type UpstreamWorld } from './upstream.ts';
import { useLink } from './working.ts';

const UPSTREAM_TIMEOUT_MS = 1_000;
const LEASE_MS = UPSTREAM_TIMEOUT_MS + LEASE_MARGIN_MS;
/** Duration of the phase with new people and faults, in milliseconds. */
const FAULTS_FOR_MS = 40_000;
const LONG_FAULTS_FOR_MS = 120_000;

export type Finished = Pick<Ledger, 'violations' | 'trace' | 'faults' | 'answers'> & {
  /** Hash of everything that the run did. The same seed gives the same hash. */
  digest: string;
};

/** Runs a seed to its end. */
export async function simulate(seed: string, traced: boolean): Promise<Finished> {
  const random = seeded(seed);
  const scheduler = openScheduler();
  const ledger = openLedger(scheduler, traced);
  const kind: StoreKind = random.pick(['file', 'server']);
  const embedded = random.chance(0.3);
  const mails = random.chance(0.5);
  // Long runs use the server store. With a file, a process that pauses for a minute may hold the only lock. Such a
  // pause would only test an outage.
  const long = mails && kind === 'server' && random.chance(0.4);
  const faultsForMs = long ? LONG_FAULTS_FOR_MS : FAULTS_FOR_MS;
  const chances = drawChances(random.fork('chances'), { mails, long });
  const places = placesOf(kind, random.pick([1, 2, 3]), { scheduler, ledger, random: random.fork('machines') });
  const [first] = places as [Place];
  const store = openStore(kind, first.machine, {
    scheduler,
    ledger,
    random: random.fork('store'),
    chances,
  });
  const redelivery = random.chance(0.85);
  const keepsDelivered = random.chance(0.7);
  const extras = drawExtras(random.fork('extras'), { mails });
  const watched = watch(store, ledger, { embedded, redelivery, extras, time: scheduler.time });
  ledger.note(() => `store: ${kind}, destination: ${embedded ? 'embedded' : 'HTTP'}`);

  const newId = countedIds();
  const loseStore = (ms: number) => {
    store.medium.away = true;
    scheduler.after(ms, () => {
      store.medium.away = false;
    });
  };
  const surroundings = { scheduler, ledger, chances, faults: true };
  const upstreamWorld: UpstreamWorld = {
    ...surroundings,
    random: random.fork('upstream'),
    timeoutMs: UPSTREAM_TIMEOUT_MS,
    goneUntil: 0,
    fence: openFence(store, ledger, { time: scheduler.time, timeoutMs: UPSTREAM_TIMEOUT_MS }),
    loseStore,
  };
  const mailWorld: MailWorld = {
    ...surroundings,
    random: random.fork('mail'),
    underWay: 0,
    attempts: [],
    perMinute: random.pick([SMALL_BUDGET, LARGE_BUDGET]),
    isMarked: watched.isMarked,
    onLink: () => {},
  };
  const tests = drawTests(random.fork('tester'));
  const jitter = random.fork('jitter');
  const secrets = random.fork('secrets');
  let keys = keysAt(0);
  const onError = (error: unknown) => {
    if (!(error instanceof StorageUnavailable)) ledger.violate(0, `unexpected: ${error}`);
  };
  const start = (place: Place) => {
    const process = startProcess(place.name, place.machine, { scheduler, ledger, newId });
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
        ? { embedded: true }
        : noting(openSimulatedUpstream(upstreamWorld, process), surroundings, process),
      mailer: mails ? openSimulatedMailer(mailWorld, process) : undefined,
      signingKeys: keys,
      upstreamTimeoutMs: UPSTREAM_TIMEOUT_MS,
      mailPerMinute: mailWorld.perMinute,
      redelivery,
      hasTester: tests.chosen,
      // A notice contains the content of the submission.
      keepsDelivered: keepsDelivered || extras.tellsContractor,
      extras,
      ledger,
      randomInt: (limit) => jitter.whole(0, limit - 1),
      randomSecret: secrets.bytes,
      onUnstored: (id) => ledger.unstored.add(id),
      onError: (error) => process.isAlive() && onError(error),
    });
  };
  for (const place of places) start(place);

  const receipts = random.fork('receipts');
  const crowd: Crowd = {
    scheduler,
    ledger,
    random: random.fork('people'),
    isOver: () => !store.medium.faults,
    beforeForm: () => {
      if (!store.medium.faults || !crowd.random.chance(chances.awayAtForm)) return;
      ledger.fault('the store is away as a form is sent');
      loseStore(crowd.random.between(100, 8_000));
    },
    call: openNetwork({ scheduler, ledger, random: random.fork('calls'), places, onError }),
    receipts: openReceiptReading(receipts, openNetwork({ scheduler, ledger, random: receipts, places, onError })),
  };

  const office = { crowd: { ...crowd, random: extras.random }, store, rows: watched.rows };
  const people = new Set<Promise<void>>();
  const join: Join = (person) => {
    people.add(person);
    person.finally(() => people.delete(person));
  };
  mailWorld.onLink = (link) => join(useLink(office, link));
  enterPeople({
    embedded,
    random,
    office,
    crowd,
    join,
    tests,
    extras,
    mailWorld: mails ? mailWorld : undefined,
    faultsForMs,
  });

  const world: World = {
    places,
    chances,
    onError,
    setAway: (away) => {
      store.medium.away = away;
    },
    rotateKeys: (step) => {
      keys = keysAt(step);
      for (const { service } of places) if (service) service.signingKeys = keys;
    },
    erase: () => void eraseSomebody(crowd),
    resend: () => void resendSome(crowd, watched.rows),
    dismiss: () => void dismissOne(crowd, watched.rows),
    advance: (ms) => {
      store.medium.aheadMs += ms;
      store.medium.movedAt = scheduler.time();
    },
    loseUpstream: (ms) => {
      upstreamWorld.goneUntil = scheduler.time() + ms;
    },
  };
  const faults = faultsOf(world, random.fork('faults'), faultsForMs);
  for (const { at, name, strike } of faults) {
    scheduler.after(at, () => {
      ledger.fault(name);
      strike();
    });
  }

  let over = false;
  const end = async () => {
    calm();
    await conclude({
      crowd,
      store,
      watched,
      places,
      people,
      mailWorld: mails ? mailWorld : undefined,
      extras,
      hasTester: tests.chosen,
      finalWithinMs: (tests.chosen ? SANDBOX_LEASE_MS : LEASE_MS) + RECOVER_EVERY_MS + 1_000,
      onError,
    });
    over = true;
  };
  scheduler.after(faultsForMs, () => void end());
  const calm = () => {
    ledger.note(() => 'the faults stop');
    store.medium.faults = false;
    store.medium.away = false;
    upstreamWorld.faults = false;
    mailWorld.faults = false;
    for (const { machine } of places) machine.stepWall(0);
    world.rotateKeys(1);
    for (const { service } of places) service?.process.resume();
  };

  await scheduler.run(() => over || ledger.violations.length > 0, watched.check);
  if (!over && ledger.violations.length === 0) ledger.violate(7, 'nothing happens any more');
  // Killing the processes also closes their connections. SQLite deletes an in-memory database when its last connection
  // closes.
  for (const { service } of places) service?.process.kill();
  store.close();
  await checkFiles(ledger);
  const { violations, trace, answers } = ledger;
  const digest = digestOf([...answers, ...ledger.deliveries, ...ledger.faults, scheduler.time()]);
  return { violations, trace, faults: ledger.faults, answers, digest };
}

/** Returns the keys at a step of the rotation: old before new, new before old, then new alone. */
function keysAt(step: number): SigningKeys {
  const [old, young] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  return [[old, young], [young, old], [young]][step] ?? [young];
}

function digestOf(seen: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(seen)).digest('hex').slice(0, 16);
}
