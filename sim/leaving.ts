/** A person who has everything about them erased, after all their requests have been answered: invariant 18. */
import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { erasePerson } from '../src/confirmations/person.ts';
import { messageFilesTo, removeFiles } from '../src/mail/erasure.ts';
import { openFilesMailer } from '../src/mail/files.ts';
import { systemClock } from '../src/platform/clock.ts';
import { requestScrub } from '../src/storage/scrubbing.ts';
import { setNote } from '../src/submissions/progress.ts';
import { type Crowd, executeOnce, fieldsOf } from './asking.ts';
import { CLIENTS, TESTER } from './clients.ts';
import { tables } from './database.ts';
import type { Ledger } from './ledger.ts';
import { keyOf, previewUntilAnswered } from './people.ts';
import { askUntilAnswered } from './pressing.ts';
import type { Service } from './service-parts.ts';
import type { Store } from './store.ts';
import { send } from './visitors.ts';

/** The part of the person's address that nothing else contains. */
const NAME = 'leaver';
const EMAIL = `${NAME}@x.example`;

/** The contractor gets a notice of a quote. */
const FORMS = ['homeowner_quote', 'homeowner_quote', 'contact'];

type Course = { embedded: boolean; mails: boolean; hasTester: boolean };

/** Runs the person. If a request had no certain end, the person stays, because the request may write later. */
export async function leave(crowd: Crowd, store: Store, course: Course): Promise<void> {
  const { random, scheduler, ledger } = crowd;
  await scheduler.sleep(random.between(0, 20_000));
  // The embedded inbox stores an execution when it ends, so there its person returns.
  const isHasty = !course.embedded && random.chance(0.4);
  // A lead and an execution would count as deliveries of the same mark.
  const real = isHasty ? stayAway : random.pick([sendForm, executeByAgent]);
  for (const deal of [real, askByAgent, subscribe, testByAgent, noteByOperator]) {
    if (random.chance(0.35)) continue;
    if (!(await deal(crowd, store, course))) return;
    await scheduler.sleep(random.pick([0, random.between(0, 3_000)]));
  }
  const executing = isHasty ? executeByAgent(crowd, store, course) : undefined;
  if (isHasty && !(await isClaimed(crowd, store))) return;
  // Mails may be sent before, at the same time, or never.
  if (!isHasty) await scheduler.sleep(random.pick([0, random.between(0, 1_500), random.between(0, 20_000)]));
  ledger.erased.add(EMAIL);
  for (let times = 0; times < 20; times += 1) {
    const answer = await crowd.call(`erasure of ${EMAIL}`, eraseAsTheCommand, 5_000);
    if (answer?.kind === 'erased') {
      ledger.hasLeft = (await executing) ?? true;
      if (ledger.hasLeft) checkTables(store, ledger);
      return;
    }
    await scheduler.sleep(1_000);
  }
}

/** Waits until the execution of a real client is stored. From then on it only ends. */
async function isClaimed({ scheduler }: Crowd, store: Store): Promise<boolean> {
  for (let times = 0; times < 300; times += 1) {
    const sql = "select 1 from executions where idempotency_key like '%-leaves' and sandbox = 0";
    if ((store.read(sql)?.length ?? 0) > 0) return true;
    await scheduler.sleep(20);
  }
  return false;
}

async function eraseAsTheCommand({ storage, process }: Service) {
  const { clock, newId } = process;
  const scrub = { id: newId(), dueAt: clock.now() };
  await storage.write(async (tx) => {
    await requestScrub(tx, scrub);
    await erasePerson(tx, EMAIL, clock.now());
  });
  return { kind: 'erased' as const };
}

type Deal = (crowd: Crowd, store: Store, course: Course) => Promise<boolean>;

const stayAway: Deal = async () => true;

/** Returns true if the submission is stored, or will never be. */
const sendForm: Deal = async (crowd) => {
  const form = crowd.random.pick(FORMS);
  const sent = { form: 'lead' as const, mark: EMAIL, body: { form, ...fieldsOf(EMAIL) } };
  crowd.ledger.addresses.set(EMAIL, EMAIL);
  const answer = await send(crowd, sent);
  // The insert of a submission that was sent unstored may still commit.
  return ['accepted', 'kept', 'left'].includes(answer?.kind ?? '') && !crowd.ledger.unstored.has(EMAIL);
};

const subscribe: Deal = async (crowd, _store, { mails }) => {
  if (!mails) return true;
  const mark = `visit-${NAME}`;
  crowd.ledger.addresses.set(mark, EMAIL);
  const body = { email: EMAIL, privacy: 'on', contractor: mark };
  const answer = await send(crowd, { form: 'subscription', mark, body });
  return answer?.kind === 'accepted';
};

const executeByAgent: Deal = (crowd) => executeAs(crowd, crowd.random.pick(CLIENTS));
const testByAgent: Deal = async (crowd, _store, { hasTester }) => !hasTester || (await executeAs(crowd, TESTER));

/** Executes until there is a receipt. Without one, a later execution would store the person again. */
async function executeAs(crowd: Crowd, client: string): Promise<boolean> {
  const action = crowd.random.pick(FORMS);
  const token = await previewUntilAnswered(crowd, action, EMAIL, client);
  if (token === undefined) return true;
  const key = keyOf(client, `${client}-leaves`, action, token);
  crowd.ledger.keys.push(key);
  for (let times = 0; times < 8 && key.receipts.size === 0; times += 1) {
    await executeOnce(crowd, key, 30_000);
    await crowd.scheduler.sleep(500);
  }
  return key.receipts.size > 0;
}

/** Has an agent request a confirmation that nobody answers. */
const askByAgent: Deal = async (crowd) => {
  const token = await previewUntilAnswered(crowd, 'contact', EMAIL);
  return token === undefined || (await askUntilAnswered(crowd, 'alpha', 'asks-nobody', token)) !== undefined;
};

/** Sets a note about the person, and requests a sign-in link to a search for the person. */
const noteByOperator: Deal = async (crowd, store, { mails }) => {
  const [row] = store.read<{ id: string }>('select id from submissions where email = ?', EMAIL) ?? [];
  const answer = await crowd.call(
    'a note about a person',
    async ({ storage, desk }) => {
      if (row !== undefined) await storage.write((tx) => setNote(tx, row.id, `Wrote to ${EMAIL}.`));
      if (mails) await desk.requestLink(`/operator/leads?q=${NAME}`);
      return { kind: 'noted' as const };
    },
    30_000,
  );
  return answer !== undefined;
};

/** Matches every row of every table in which a text contains the name. */
const anywhere = tables
  .flatMap(({ name, columns }) =>
    columns.length === 0
      ? []
      : `select '${name}' name from "${name}" where ${columns.map((column) => `"${column}" like '%${NAME}%'`).join(' or ')}`,
  )
  .join(' union all ');

/** Checks that no table contains the person. Reads nothing while a transaction is open. */
export function checkTables(store: Store, ledger: Ledger): void {
  for (const { name } of store.read<{ name: string }>(anywhere) ?? []) {
    ledger.violate(18, `the erased person is in ${name}`);
  }
}

/**
 * Writes the run's mails as local mode does, one of them incompletely, erases the person's files as `npm run erase`
 * does, and checks that no file contains the person. Waits for real files, so it runs after the run.
 */
export async function checkFiles({ mails, hasLeft, violate }: Ledger): Promise<void> {
  if (!hasLeft || !mails.some(({ message }) => JSON.stringify(message).includes(NAME))) return;
  const folder = await mkdtemp(join(tmpdir(), 'simulated-mail-'));
  try {
    const from = { name: 'Operator', address: 'site@work.example' };
    const { send: write } = openFilesMailer({ folder, from, clock: systemClock });
    for (const { message } of mails) await write(message);
    const [first = ''] = await readdir(folder);
    await rename(join(folder, first), join(folder, `.${first}.part`));
    await removeFiles(await messageFilesTo(folder, EMAIL));
    for (const name of await readdir(folder)) {
      if ((await readFile(join(folder, name), 'utf8')).includes(NAME))
        violate(18, 'the erased person is in a mail file');
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}
