/**
 * Handles double clicks on the button of a page without JavaScript. The browser posts the same bytes twice and shows
 * the second answer. So the second post gets the result of the first post, which is remembered for ten seconds if the
 * form was accepted. The second post is neither forwarded nor counted.
 *
 * 1. Only posts that a browser sends from a page of this site take part (`Sec-Fetch-*`, which no script can set).
 * 2. A refused page contains a new value, so that sending it again is no double click.
 * 3. `deploy/nginx.conf` sends both clicks of a client address to the same instance.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../platform/clock.ts';
import type { FormResult } from './leads.ts';

/** Time for which the result is remembered, long enough for an answer over a slow mobile connection. */
const REMEMBERED_MS = 10_000;

/**
 * Returns true if a browser navigates from a page of this site. Old browsers, and browsers over plain HTTP, don't send
 * the necessary headers.
 */
export function isOwnNavigation({ headers }: IncomingMessage): boolean {
  return headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-site'] === 'same-origin';
}

/** Returns the key that two clicks of one person share. */
export function keyOf(request: IncomingMessage, body: Buffer): string {
  const { url = '', headers, socket } = request;
  const from = [url, socket.remoteAddress ?? '', headers['x-forwarded-for'] ?? ''];
  return createHash('sha256').update(JSON.stringify(from)).update(body).digest('base64url');
}

type Clicks = Map<string, { result: Promise<FormResult>; forgetAt: number }>;

/** Remembers the recent clicks of this process. */
export function openDoubleClicks(clock: Clock, clicks: Clicks = new Map()) {
  return {
    /** Calls `run` for the first click with this key. Later clicks get the same result. */
    once(key: string, run: () => Promise<FormResult>): Promise<FormResult> {
      for (const [old, { forgetAt }] of clicks) {
        if (forgetAt > clock.monotonic()) break;
        clicks.delete(old);
      }
      const before = clicks.get(key);
      if (before !== undefined && before.forgetAt > clock.monotonic()) return before.result;
      const click = { result: run(), forgetAt: Number.POSITIVE_INFINITY };
      clicks.set(key, click);
      click.result.then(
        ({ kind }) => {
          // A person sends a refused form again on purpose (reference §10.10), so the repeated request counts again.
          if (kind === 'accepted') click.forgetAt = clock.monotonic() + REMEMBERED_MS;
          else clicks.delete(key);
        },
        () => clicks.delete(key),
      );
      return click.result;
    },
  };
}
