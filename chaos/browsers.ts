/**
 * Simulates browsers. A browser sends a lead once, and a subscription until it is accepted. One address sends too many
 * requests.
 */
import { problems } from '../src/failures/catalogue.ts';
import { type FormAttempt, type Moment, now } from './ledger.ts';
import type { Run } from './run.ts';

const sentences = ['kept', 'left', 'unsent', 'unconfirmed'] as const;

let numbers = 0;

/** Sends one lead. A person who sees a failure has no other information than the page. */
export async function sendLead(run: Run): Promise<void> {
  numbers += 1;
  const marker = `${run.marker}l${numbers}`;
  await send(run, '/api/leads', marker, {
    form: 'contact',
    name: `Name ${marker}`,
    email: `${marker}@chaos.example`,
    subject: `Subject ${marker}`,
    message: `Message ${marker}`,
  });
}

/** Sends one subscription until it is accepted. `contractor` distinguishes the attempts. */
export async function subscribe(run: Run): Promise<void> {
  numbers += 1;
  const marker = `${run.marker}s${numbers}`;
  for (let attempt = 1; run.phase !== 'over'; attempt += 1) {
    const contractor = `${marker}-${attempt}`;
    const email = `${marker}@chaos.example`;
    const body = { email, privacy: 'on', contractor };
    if ((await send(run, '/api/subscribe', contractor, body)) === 200) return;
    await run.rest(run.random.between(500, 4_000));
  }
}

async function send(
  run: Run,
  path: '/api/leads' | '/api/subscribe',
  marker: string,
  body: Record<string, string>,
): Promise<number> {
  const from = now(run.ledger);
  const answer = await run.client.post(path, body);
  const status = answer?.status ?? 0;
  const to = now(run.ledger);
  run.ledger.attempts.push({
    path,
    marker,
    email: body.email ?? '',
    from,
    to,
    status,
    sentence: status === 502 ? sentenceOf(answer?.body?.error) : undefined,
    reference: answer?.reference,
  });
  return status;
}

/**
 * Returns the kind of the error's sentence. Returns undefined if the proxy answered, or if the error has another
 * sentence.
 */
function sentenceOf(error: unknown): FormAttempt['sentence'] {
  return sentences.find((kind) => problems[kind].error === error);
}

const PREVIEW = '/api/agent/actions/newsletter/preview';
const HAMMER_REQUESTS = 80;
const HAMMER_EVERY_MS = 80;

/**
 * Sends more previews from one address than a minute allows. `checkWindows` compares the number of accepted previews
 * with the limit.
 */
export async function hammerPreview(run: Run, number: number): Promise<void> {
  const { ledger, client } = run;
  const address = `203.0.${(number >> 8) & 255}.${number & 255}`;
  const from = now(ledger);
  const timeline: Moment[] = [];
  const sent: Promise<number>[] = [];
  const headers = { authorization: `Bearer ${Object.values(run.tokens)[0]}` };
  const body = { email: `${run.marker}h${number}@chaos.example` };
  const ask = async () => {
    const answer = await client.post(PREVIEW, body, { headers, address });
    const status = answer?.status ?? 0;
    timeline.push({ at: now(ledger), what: `${status} from ${answer?.instance}` });
    return status;
  };
  while (sent.length < HAMMER_REQUESTS && run.phase === 'faults') {
    sent.push(ask());
    await run.rest(HAMMER_EVERY_MS);
  }
  const answers = await Promise.all(sent);
  const count = (status: number) => answers.filter((each) => each === status).length;
  const accepted = count(200);
  const to = now(ledger);
  ledger.windows.push({ from, to, sent: sent.length, accepted, refused: count(429), timeline });
}
