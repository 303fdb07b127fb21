/** How the demo asks and tells: numbered steps, each with what was expected of it. */
import { STATUS_CODES } from 'node:http';
import { ExitFault } from '../faults.ts';
import type { Terminal } from '../terminal.ts';

/** Longer than the service itself waits for its upstream at most (contract §2). */
const TIMEOUT_MS = 70_000;

export type Reply = {
  status: number;
  headers: Headers;
  text: string;
  /** Empty where the answer is no JSON object. */
  body: Readonly<Record<string, unknown>>;
};

export type Step = {
  does: string;
  method: 'GET' | 'POST';
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | URLSearchParams | FormData;
  /** What is shown of the request beside its line; never a credential. */
  shows?: string;
  status: number;
  /** What else makes it the expected answer. */
  holds?: (reply: Reply) => boolean;
  means: string[] | ((reply: Reply) => string[]);
};

export type Story = {
  chapter(title: string): void;
  /** Sends the request and tells it; throws `ExitFault` where the answer is not the expected one. */
  tell(step: Step): Promise<Reply>;
  /** A step that is no request. */
  note(does: string, means: string[]): void;
};

/** Takes where the service is, without a slash at its end; nothing is printed before it answers. */
export function openStory(terminal: Terminal, url: string): Story {
  let number = 0;
  let chapter = '';

  function print(does: string, lines: string[], means: string[]): void {
    if (chapter !== '') terminal.print(`${terminal.emphasize('bold', chapter)}\n`);
    chapter = '';
    terminal.print(`${String(number).padStart(3)}  ${terminal.emphasize('bold', does)}`);
    for (const line of [...lines, ...means.map(printable)]) terminal.print(`     ${line}`);
    terminal.print('');
  }

  return {
    chapter: (title) => {
      chapter = title;
    },
    tell: async (step) => {
      number += 1;
      const reply = await send(url, step, number);
      const { does, method, path, shows } = step;
      const isExpected = reply.status === step.status && (step.holds?.(reply) ?? true);
      const means = isExpected ? meaningOf(step, reply) : [];
      if (terminal.json) {
        const told = { step: number, does, method, path, status: reply.status, ok: isExpected };
        terminal.print(JSON.stringify({ ...told, means }));
      } else {
        const status = `${reply.status} ${STATUS_CODES[reply.status] ?? ''}`.trimEnd();
        const line = `${method} ${path}${shows === undefined ? '' : `   ${shows}`}`;
        print(does, [line, terminal.emphasize(isExpected ? 'good' : 'bad', status)], means);
      }
      if (!isExpected) throw new ExitFault(disappointment(step, reply, number));
      return reply;
    },
    note: (does, means) => {
      number += 1;
      if (terminal.json) terminal.print(JSON.stringify({ step: number, does, ok: true, means }));
      else print(does, [], means);
    },
  };
}

function meaningOf({ means }: Step, reply: Reply): string[] {
  return typeof means === 'function' ? means(reply) : means;
}

async function send(url: string, step: Step, number: number): Promise<Reply> {
  try {
    const response = await fetch(`${url}${step.path}`, {
      method: step.method,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(step.headers === undefined ? {} : { headers: step.headers }),
      ...(step.body === undefined ? {} : { body: step.body }),
    });
    const { status, headers } = response;
    const text = await response.text();
    return { status, headers, text, body: jsonObjectOf(text) };
  } catch {
    const when = number === 1 ? '' : ` any more at step ${number}`;
    throw new ExitFault(
      `The service does not answer at ${url}${when}: start it with \`npm start\`, or say where it is with --url.`,
    );
  }
}

function jsonObjectOf(text: string): Reply['body'] {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** One sentence about an answer that is not the expected one. */
function disappointment(step: Step, { status, headers, body }: Reply, number: number): string {
  const retryAfter = Number(headers.get('retry-after'));
  // With a receipt, it is the upstream that says so (contract §3).
  if (status === 429 && retryAfter > 0 && body.receipt === undefined) {
    const wait = retryAfter > 90 ? `${Math.ceil(retryAfter / 60)} minutes` : `${retryAfter} s`;
    return `Step ${number}: the rate of this address for ${step.path} is used up, most likely by an earlier demo; run it again in ${wait}.`;
  }
  const said = typeof body.error === 'string' ? ` It says: ${printable(body.error)}` : '';
  if (status === step.status) return `Step ${number}: the answer is not what was expected.${said}`;
  return `Step ${number}: ${step.status} was expected, and the answer is ${status}.${said}`;
}

/** Nothing of an answer may control the terminal. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu, '');
}
