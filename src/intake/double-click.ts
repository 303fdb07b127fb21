/**
 * A double click on the button of a page without JavaScript posts the same bytes twice, and the
 * browser shows the second answer. So the second one waits for the first and gets its outcome, or, for ten
 * seconds, that it was accepted: it is neither forwarded nor counted. Only what a browser itself sends from a page of this site is
 * looked at (`Sec-Fetch-*`, which no script can set): whoever posts by program is taken at its word.
 * A page that comes back refused carries a value of its own, so that sending it again is no double.
 * Of several instances a client address has one: `deploy/nginx.conf` sends both clicks to it.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../clock.ts';
import type { FormResult } from './leads.ts';

/** After the first one's outcome: what its answer may take to a telephone on a bad line. */
const REMEMBERED_MS = 10_000;

export type DoubleClicks = {
  /** Runs what has not been begun under this key; whoever comes again gets the same result. */
  once(key: string, run: () => Promise<FormResult>): Promise<FormResult>;
};

/** Whether a browser navigates from a page of this site; old ones, and those on plain HTTP, don't say. */
export function isOwnNavigation({ headers }: IncomingMessage): boolean {
  return headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-site'] === 'same-origin';
}

/** Takes a request and its body; returns what two clicks of one person have in common. */
export function keyOf(request: IncomingMessage, body: Buffer): string {
  const { url = '', headers, socket } = request;
  const from = [url, socket.remoteAddress ?? '', headers['x-forwarded-for'] ?? ''];
  return createHash('sha256').update(JSON.stringify(from)).update(body).digest('base64url');
}

type Begun = Map<string, { result: Promise<FormResult>; forgetAt: number }>;

/** Takes the clock and where to remember; returns the memory of the last clicks, in this process alone. */
export function openDoubleClicks(clock: Clock, begun: Begun = new Map()): DoubleClicks {
  const forgetOld = () => {
    for (const [key, { forgetAt }] of begun) {
      if (forgetAt > clock.monotonic()) return;
      begun.delete(key);
    }
  };

  return {
    once: (key, run) => {
      forgetOld();
      const before = begun.get(key);
      if (before !== undefined && before.forgetAt > clock.monotonic()) return before.result;
      const click = { result: run(), forgetAt: Number.POSITIVE_INFINITY };
      begun.set(key, click);
      click.result.then(
        ({ kind }) => {
          // What was refused is sent again because its person wants it again (beyond §1), and is counted again.
          if (kind === 'accepted') click.forgetAt = clock.monotonic() + REMEMBERED_MS;
          else begun.delete(key);
        },
        () => begun.delete(key),
      );
      return click.result;
    },
  };
}
