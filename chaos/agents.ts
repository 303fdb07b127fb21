/** Simulates agents. Each agent previews, executes, and executes again with the same key until the answer is final. */
import { CONFIRMATION_STATEMENT } from '../src/actions/preview.ts';
import type { Answer } from './client.ts';
import { type Key, now, type Preview, report } from './ledger.ts';
import type { Run } from './run.ts';

const ACTIONS = ['homeowner_quote', 'homeowner_quote', 'contractor_signup', 'contact', 'newsletter'];
/** Time after which an impatient client hangs up, in milliseconds. The client returns much later. */
const IMPATIENCE_MS = [20, 600] as const;
const COMES_BACK_MS = [1_000, 30_000] as const;

let numbers = 0;

/** Runs one agent that sends one person's request, until the answers are final. */
export async function useAgent(run: Run): Promise<void> {
  const { random, ledger } = run;
  const preview = await obtainPreview(run);
  if (preview === undefined) return;
  ledger.previews.set(preview.marker, preview);
  const behaviour = random.next();
  if (behaviour < 0.5) {
    await pursue(run, preview, addKey(preview), { impatient: false });
  } else if (behaviour < 0.7) {
    await pursue(run, preview, addKey(preview), { impatient: true });
  } else if (behaviour < 0.85) {
    const keys = [addKey(preview), addKey(preview)];
    await Promise.all(keys.map((key) => pursue(run, preview, key, { impatient: false })));
  } else {
    const key = addKey(preview);
    const racers = Array.from({ length: random.whole(2, 4) });
    await Promise.all(racers.map(() => pursue(run, preview, key, { impatient: false })));
  }
  if (random.chance(0.3)) {
    await run.rest(random.between(100, 15_000));
    for (const key of preview.keys) await attempt(run, preview, key, undefined);
  }
}

/** Executes every key again, because a receipt never changes. */
export async function executeAllAgain(run: Run): Promise<void> {
  const all = [...run.ledger.previews.values()];
  const workers = Array.from({ length: 8 }, async () => {
    for (let preview = all.pop(); preview !== undefined; preview = all.pop()) {
      for (const key of preview.keys) {
        if (key.final !== 'expired') await pursueAgain(run, preview, key);
      }
    }
  });
  await Promise.all(workers);
}

async function pursueAgain(run: Run, preview: Preview, key: Key): Promise<void> {
  for (let attempts = 0; attempts < 20; attempts += 1) {
    const answer = await attempt(run, preview, key, undefined);
    if (answer !== undefined && judge(answer) !== undefined) return;
    await run.rest(300);
  }
  report(run.ledger, 'the same receipt for ever', `${key.key} is not answered any more`, preview);
}

async function obtainPreview(run: Run): Promise<Preview | undefined> {
  numbers += 1;
  const { random, client, ledger } = run;
  const marker = `${run.marker}a${numbers}`;
  const action = random.pick(ACTIONS);
  const [name, token] = random.pick(Object.entries(run.tokens));
  const fields = {
    name: `Name ${marker}`,
    email: `${marker}@chaos.example`,
    postal_code: marker,
    company: `Company ${marker}`,
    subject: `Subject ${marker}`,
    message: `Message ${marker}`,
  };
  const headers = { authorization: `Bearer ${token}` };
  while (run.phase === 'faults') {
    const answer = await client.post(`/api/agent/actions/${action}/preview`, fields, { headers });
    if (answer?.status === 200) {
      const at = now(ledger);
      const timeline = [{ at, what: `previewed as ${action} by ${answer.instance}` }];
      const previewId = answer.body.preview_id;
      return { marker, action, client: name, token: previewId, obtainedAt: at, keys: [], timeline };
    }
    await run.rest(random.between(200, 2_000));
  }
  return undefined;
}

function addKey(preview: Preview): Key {
  const key: Key = {
    key: `key-${preview.marker}-${preview.keys.length}`,
    final: undefined,
    receipts: new Set(),
    firstAnswers: 0,
    replays: 0,
  };
  preview.keys.push(key);
  return key;
}

/** Executes one key until the answer is final or the run is over. */
async function pursue(run: Run, preview: Preview, key: Key, { impatient }: { impatient: boolean }): Promise<void> {
  const { random } = run;
  for (let attempts = 1; run.phase !== 'over'; attempts += 1) {
    const hangsUp = impatient && run.phase === 'faults' && random.chance(0.7);
    const patience = hangsUp ? random.between(...IMPATIENCE_MS) : undefined;
    const answer = await attempt(run, preview, key, patience);
    if (answer !== undefined && judge(answer) !== undefined) return;
    if (impatient) await run.rest(random.between(...COMES_BACK_MS));
    else await run.rest(Math.min(4_000, 150 * 2 ** attempts) * random.between(0.5, 1));
  }
}

/** Sends one request to execute, and adds it to the timeline. */
async function attempt(run: Run, preview: Preview, key: Key, patienceMs: number | undefined) {
  const { ledger, client } = run;
  const { timeline } = preview;
  const which = key.key.slice(key.key.lastIndexOf('-') + 1);
  timeline.push({ at: now(ledger), what: `execute under key ${which}` });
  const answer = await client.post(
    `/api/agent/actions/${preview.action}/execute`,
    {
      preview_id: preview.token,
      confirmation: true,
      confirmation_text: CONFIRMATION_STATEMENT,
    },
    {
      headers: {
        authorization: `Bearer ${run.tokens[preview.client]}`,
        'idempotency-key': key.key,
      },
      ...(patienceMs === undefined ? {} : { patienceMs }),
    },
  );
  const detail =
    answer === undefined
      ? patienceMs === undefined
        ? 'no answer'
        : 'hung up'
      : `${answer.status} ${JSON.stringify(answer.body)} from ${answer.instance}`;
  timeline.push({ at: now(ledger), what: `  key ${which}: ${detail}` });
  if (answer !== undefined) note(run, preview, key, answer);
  return answer;
}

/** Returns the final result of an answer, or undefined if the client should retry. */
function judge({ status, body }: Answer): NonNullable<Key['final']> | undefined {
  if (body?.receipt !== undefined) return status === 200 ? 'submitted' : 'failed';
  if (status === 409 && body?.error === 'preview_already_used') return 'alreadyUsed';
  return status === 400 ? 'expired' : undefined;
}

function note({ ledger }: Run, preview: Preview, key: Key, answer: Answer): void {
  const { status, body } = answer;
  const final = judge(answer);
  if (status === 409 && final === undefined && body?.retryable !== true) {
    report(ledger, 'no unexpected status', `409 ${JSON.stringify(body)} for ${key.key}`, preview);
  }
  if (final === undefined) return;
  if (key.final !== undefined && key.final !== final) {
    const detail = `${key.key} was ${key.final}, and is ${final}`;
    report(ledger, 'a final answer stays', detail, preview);
  }
  key.final = final;
  if (body.receipt !== undefined) key.receipts.add(JSON.stringify(body.receipt));
  if (body.receipt !== undefined && (body.receipt.status === 'submitted') !== (status === 200)) {
    report(ledger, 'status and receipt agree', `${status} with ${body.receipt.status}`, preview);
  }
  if (body.replay === true) key.replays += 1;
  else if (status === 200) key.firstAnswers += 1;
}
