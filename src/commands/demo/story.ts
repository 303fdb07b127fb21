/** Sends the requests of the demo, and prints each as a numbered step with the meaning of its answer. */
import { readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import type { Receipt } from '../../actions/executions.ts';
import { messageFilesTo } from '../../mail/erasure.ts';
import { systemClock } from '../../platform/clock.ts';
import { userAgent } from '../../project.ts';
import { ExitFault } from '../command-errors.ts';
import type { Piece, Terminal } from '../terminal.ts';

/** Time limit of a request, longer than the service's longest wait for its upstream (reference §20.3). */
const TIMEOUT_MS = 70_000;
const POLL_MS = 100;

type Body = { [name: string]: unknown; receipt?: Receipt };
type Reply = Awaited<ReturnType<typeof send>>;

/** A request, its expected answer and the meaning of that answer. Without `json` and `form` it is a GET. */
export type Step = {
  path: string;
  headers?: Record<string, string>;
  json?: object;
  form?: URLSearchParams | FormData;
  /** Part of the request that is printed beside its line. The part is never a credential. */
  shows?: string;
  /** Expected status, and a text that the `Location` header or the body must contain. */
  answer: [status: number, contains: string];
  means: string | ((reply: Reply) => string[]);
};

export type Story = ReturnType<typeof openStory>;

/**
 * Opens a story. `url` is the address of the service without a slash at its end. `firstTitle` is printed before the
 * first step.
 */
export function openStory(terminal: Terminal, url: string, firstTitle: string) {
  let number = 0;
  const heading: Piece[] = [{ emphasis: 'bold', text: firstTitle }, ''];

  function print(does: string, details: object, lines: Piece[]) {
    number += 1;
    if (terminal.json) return terminal.print(JSON.stringify({ step: number, does, ...details }));
    for (const line of heading.splice(0)) terminal.print(line);
    terminal.print(`${String(number).padStart(3)}  `, { emphasis: 'bold', text: does });
    for (const line of lines) terminal.print('     ', line);
    terminal.print('');
  }

  return {
    /** Sets the title to print before the next step. */
    begin: (title: string) => void heading.push({ emphasis: 'bold', text: title }, ''),
    /** Sends the request and prints the step. Throws `ExitFault` if the answer is not as expected. */
    tell: async (does: string, step: Step) => {
      const { path, shows = '', answer, means } = step;
      const method = step.json === undefined && step.form === undefined ? 'GET' : 'POST';
      const reply = await send(url + path, method, step).catch(() => {
        throw new ExitFault(
          `The service does not answer at ${url}. Start it with \`npm start\`, or give its address with --url.`,
        );
      });
      const { status } = reply;
      const ok = status === answer[0] && reply.text.includes(answer[1]);
      const meaning = !ok ? [] : typeof means === 'string' ? [means] : means(reply);
      print(does, { method, path, status, ok, means: meaning }, [
        `${method} ${path}   ${shows}`.trimEnd(),
        { emphasis: ok ? 'good' : 'bad', text: `${status} ${STATUS_CODES[status] ?? ''}` },
        ...meaning,
      ]);
      if (!ok) throw new ExitFault(`Step ${number}: ${describeMismatch(step, reply)}`);
      return reply;
    },
    /** Prints a step that is no request. */
    note: (does: string, ...means: string[]) => print(does, { ok: true, means }, means),
  };
}

/**
 * Sends a request and returns the answer. The answer's text begins with the `Location` header. `body` is empty unless
 * it is a JSON object.
 */
async function send(url: string, method: string, { json, form, headers }: Step) {
  const response = await fetch(url, {
    method,
    body: json === undefined ? (form ?? null) : JSON.stringify(json),
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: { 'user-agent': userAgent(), ...(json && { 'content-type': 'application/json' }), ...headers },
  });
  const body: Body = await response
    .clone()
    .json()
    .then(Object, () => ({}));
  const text = `${response.headers.get('location') ?? ''}\n${await response.text()}`;
  return { status: response.status, headers: response.headers, text, body };
}

function describeMismatch({ answer: [expected, contains] }: Step, { status, headers, body }: Reply) {
  const wait = headers.has('retry-after') && `Try again in ${headers.get('retry-after')} s.`;
  const next = [body.error, wait].filter(Boolean).join(' ');
  return `the expected answer is ${expected} with “${contains}”, but the answer is ${status}. ${next}`.trim();
}

/**
 * Waits for e-mails. Returns path, From, To and Subject of each e-mail.
 * @throws ExitFault with `fault` if not enough e-mails arrive in time
 */
export async function waitForMails(folder: string, to: string, withinMs: number, fault: string, isEnough = isAny) {
  for (let waited = 0; waited <= withinMs; waited += POLL_MS) {
    const files = (await messageFilesTo(folder, to)).filter((path) => path.endsWith('.eml'));
    // The names of the files sort by time.
    if (isEnough(files.length)) return files.sort().map((path) => [path, ...headersOf(readFileSync(path, 'utf8'))]);
    await systemClock.sleep(POLL_MS);
  }
  throw new ExitFault(fault);
}

const isAny = (count: number) => count > 0;
const headersOf = (mail: string) => mail.match(/^(From|To|Subject): .+/gm)?.slice(0, 3) ?? [];
