/**
 * An agent that fills in one form for a person: discover, preview, show, ask, execute once, store the receipt. You can
 * copy it, because it needs no library. Run it in the project's folder, beside a service in local mode:
 *
 *   npx node examples/agent.ts homeowner_quote name='Ada Lovelace' email=ada@example.com postal_code=94110
 *
 * `npx` uses the Node.js that `npm ci` installed. A version before 22.18 reads no TypeScript. For another service, set
 * BASE_URL, and TOKEN or TOKEN_FILE. `--page` lets the person confirm on a page of the service, as some actions require.
 * `--yes` replaces the person's answer in tests. Never use it with anybody's real data.
 *
 * With a sandbox token nothing leaves the service, and a tag in the address decides the outcome. Try `--yes` with
 * `ada+rejected@example.com`, or `--page` with `ada+presses@example.com`. /reference lists the tags.
 */
import { randomUUID } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { setTimeout as sleep } from 'node:timers/promises';

type Action = Record<'preview' | 'execute', { url: string }> & {
  action: string;
  required_fields: string[];
  /** The weakest way to confirm that the action accepts. With any other than `agent`, the person confirms on a page. */
  confirmation_minimum: string;
};
/** Addresses with their method, such as `GET /api/agent/confirmations/{id}`. */
type Page = Record<'create' | 'read', string>;
type Body = {
  error?: string;
  detail?: string;
  retryable?: boolean;
  actions?: Action[];
  confirmation?: { page?: Page; id?: string; status?: string; confirmation_url?: string };
  preview_id?: string;
  fields?: Record<string, string>;
  destination?: string;
  confirmation_statement?: string;
  receipt?: { action_id: string; status: 'submitted' | 'failed' };
  replay?: boolean;
};
/** The status is 0 if no complete answer came. */
type Answer = { status: number; body: Body; ignored?: string | null; isTest?: boolean; retryAfter: number };

const ATTEMPTS = 5;
/** Time limit of a request, in milliseconds. The service may wait a minute for the destination. */
const TIMEOUT_MS = 75_000;

const say = (line: string) => process.stderr.write(`${line}\n`);
function stop(words: string): never {
  say(words);
  process.exit(1);
}

/** Sends a request, and repeats it unchanged while its result is unknown, up to this number of attempts. */
async function send(url: string, request: RequestInit = {}, attempts = ATTEMPTS): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer: Answer = { status: 0, body: {}, retryAfter: 2 ** (attempt - 1) };
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await fetch(url, { ...request, redirect: 'manual', signal });
      const text = await response.text();
      answer.status = response.status;
      answer.ignored = response.headers.get('ignored-fields');
      answer.isTest = response.headers.get('sandbox') === 'true';
      answer.retryAfter = Number(response.headers.get('retry-after')) || answer.retryAfter;
      answer.body = JSON.parse(text);
    } catch {
      // There was no complete answer, or a proxy sent a page.
    }
    const { status, body } = answer;
    const isOpen = status === 0 || status === 429 || status >= 500 || body.retryable === true;
    // A receipt is final, whatever its status. Without one, the same key makes a repeat safe.
    if (!isOpen || body.receipt !== undefined || attempt === attempts) return answer;
    const result = status === 0 ? `${new URL(url).origin} does not answer` : `Answer ${status}`;
    say(`${result}: the same again in ${answer.retryAfter} s.`);
    await sleep(answer.retryAfter * 1000);
  }
}

/** Returns an answer in words. A refusal of the service says what happened and what comes next. */
function inWords({ status, body }: Answer): string {
  if (status === 0) return `${BASE_URL} does not answer.`;
  const words = `${status}: ${body.detail ?? body.error ?? 'The answer does not say why.'}`;
  return body.receipt ? `${words}\nTell the user that it may not have arrived.` : words;
}

/** Returns true only for a yes. Silence and the end of the input are a no. */
async function userAgrees(): Promise<boolean> {
  if (process.argv.includes('--yes')) return true;
  if (!process.stdin.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question('Do you agree? (yes/no) ').catch(() => 'no');
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

/** Returns the address of a call of the manifest. The credential goes only to the service that you chose. */
function addressOf(call: string): string {
  const { href, origin } = new URL(call.replace(/^\w+ /, ''), BASE_URL);
  return origin === new URL(BASE_URL).origin ? href : stop(`${href} is not under BASE_URL.`);
}

/** Gives the person the link to a page of the service that shows everything, and waits until they have answered. */
async function confirmOnPage({ create, read }: Page): Promise<Answer> {
  const asked = await post(addressOf(create), { preview_id: preview.body.preview_id });
  const { id = '', confirmation_url: url } = asked.body.confirmation ?? stop(inWords(asked));
  say(`Open this page, check the details and confirm there: ${url}`);
  for (;;) {
    const answer = await send(addressOf(read.replace('{id}', id)), { headers });
    const { status } = answer.body.confirmation ?? stop(`${inWords(answer)}\nThe page above shows the result.`);
    if (status !== 'pending') return answer;
    await sleep(answer.retryAfter * 1000);
  }
}

const OPTIONS = ['--yes', '--page'];
const { BASE_URL = 'http://127.0.0.1:3000', TOKEN, TOKEN_FILE = 'data/agent-token' } = process.env;
const [wanted, ...pairs] = process.argv.slice(2).filter((word) => !OPTIONS.includes(word));

// Discover. Nothing is lost if this stops, so one attempt is enough.
const manifest = await send(new URL('/.well-known/service-agent.json', BASE_URL).href, {}, 1);
if (manifest.status === 0) stop(`${inWords(manifest)} Start the service, or set BASE_URL to its address.`);
const actions = manifest.body.actions ?? stop(`There is no manifest at ${BASE_URL}. ${inWords(manifest)}`);
const known = actions.map((one) => `  ${one.action}: ${one.required_fields.join(', ')}`);
const action =
  actions.find((one) => one.action === wanted) ??
  stop(`Say which action, and its fields as name=value:\n${known.join('\n')}`);
const token = TOKEN || readFileSync(TOKEN_FILE, 'utf8').trim();
// With this Accept, a refusal is a problem of RFC 9457: it always has a sentence, in `detail`.
const accept = 'application/json, application/problem+json';
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept };

// Preview. The service checks and normalizes the fields, and sends them to nobody.
const fields = JSON.stringify(Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s))));
const preview = await send(addressOf(action.preview.url), { method: 'POST', headers, body: fields });
if (preview.status !== 200) stop(inWords(preview));
if (preview.ignored) say(`The form has no such field: ${preview.ignored}.`);
if (preview.isTest) say('This is a sandbox client: a test, and nothing leaves the service.');

// Show everything that came back, and ask the person, here or on the page.
for (const [name, value] of Object.entries(preview.body.fields ?? {})) say(`  ${name}: ${value}`);
say(`These details go to ${preview.body.destination}.\n${preview.body.confirmation_statement}`);
const isOnPage = process.argv.includes('--page') || action.confirmation_minimum !== 'agent';
const page = isOnPage ? manifest.body.confirmation?.page : undefined;
if (!page && !(await userAgrees())) stop('There was no yes, so nothing was sent.');

// Execute. Use one key for this request of the user, on every attempt.
const key = randomUUID();
const post = (url: string, body: object) =>
  send(url, { method: 'POST', headers: { ...headers, 'idempotency-key': key }, body: JSON.stringify(body) });
const execution = page
  ? await confirmOnPage(page)
  : await post(addressOf(action.execute.url), {
      preview_id: preview.body.preview_id,
      confirmation: true,
      confirmation_text: preview.body.confirmation_statement,
    });

// Store the receipt of a failure too. The operator will need its action_id.
const { status, body } = execution;
const { receipt, replay, confirmation } = body;
if (receipt) appendFileSync('receipts.jsonl', `${JSON.stringify(receipt)}\n`, { mode: 0o600 });
if (!receipt && (status === 0 || status >= 500)) {
  say('Nothing tells whether it was sent: ask the operator before you send it again.');
}
if (confirmation && confirmation.status !== 'submitted') {
  const effect = receipt ? 'Tell the user that it may not have arrived.' : 'Nothing was sent.';
  stop(`The confirmation ended as ${confirmation.status}. ${effect}`);
}
if (receipt?.status !== 'submitted') stop(inWords(execution));
const result = preview.isTest ? 'Submitted as a test, so sent to nobody' : 'Sent once';
say(`${result}${replay ? ', by an earlier attempt' : ''}; the receipt is in receipts.jsonl.`);
process.stdout.write(`${JSON.stringify(receipt)}\n`);
