/**
 * What a start leaves for later, in one list: the first answers come first. Each of these loads what the
 * service can answer without (the database's query builder, the HTTP client, words and templates) and must
 * not be missing afterwards: an upgrade may take the files from under a running process.
 */
import { flushCompileCache } from 'node:module';
import type { Recovery } from '../actions/recovery.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import type { Site } from '../site/site.ts';
import type { Redelivery } from '../submissions/redelivery.ts';
import type { Upstream } from '../upstream/upstream.ts';

const AFTER_MS = 500;

export type LeftForLater = {
  clock: Clock;
  log: Log;
  recovery: Pick<Recovery, 'work'>;
  redelivery: Pick<Redelivery, 'work'>;
  upstream: Upstream | undefined;
  site: Pick<Site, 'prepare'>;
};

/** Half a second from now, unless what is returned is called before. A file that is missing is logged. */
export function workAfterStart({
  clock,
  log,
  recovery,
  redelivery,
  upstream,
  site,
}: LeftForLater): () => void {
  return clock.after(AFTER_MS, () => {
    try {
      const recovered = recovery.work(); // the first queries
      void recovered.then(redelivery.work);
      // What was compiled is kept for the next start, also where a signal that can't be caught ends this one: the very
      // first start has nine hundred files to write, for which its first answer must not wait.
      void recovered.then(flushCompileCache);
      if (upstream?.embedded === false) upstream.prepare(); // the first delivery
      site.prepare(); // the first page
    } catch (error) {
      log.error({ err: error }, 'what was left for after the start could not be loaded');
    }
  });
}
