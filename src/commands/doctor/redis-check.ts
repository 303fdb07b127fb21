/** The doctor's check of the rate limits, with the usual cause if Redis counts none (reference §13.3). */
import { createClient, ErrorReply } from '@redis/client';
import { openLimits } from '../../limits/redis.ts';
import { systemClock } from '../../platform/clock.ts';
import { openLog } from '../../platform/log.ts';
import { printable } from '../printable.ts';
import { causeOfError, tlsMismatch } from './causes.ts';
import { type Check, type Diagnosis, failed, ok } from './check.ts';
import { portOf, speaksRedis, speaksTls } from './probes.ts';

const REDIS = { setting: 'REDIS_URL', withTls: 'rediss://', withoutTls: 'redis://' };
const ANSWER_WITHIN_MS = 2_000;

/** The key of the requests that the doctor counts. No client has this key. */
const DOCTOR = 'doctor';

/** Number of requests and the pause between them, because a silent Redis counts as unavailable only after a while. */
const TIMES = 5;
const PAUSE_MS = 60;

export const rateLimits: Check = {
  check: 'rate limits',
  remedy: 'Check REDIS_URL, and that Redis runs and is reachable from this machine.',
  async run({ settings, clock }) {
    if (settings.redisUrl === undefined) return ok('Each instance counts its own limits. REDIS_URL shares them.');
    const limits = await openLimits(settings, clock, openLog('silent'));
    try {
      for (let time = 0; time < TIMES; time += 1) {
        await limits.take('preview', DOCTOR);
        await clock.sleep(PAUSE_MS);
      }
      if (!limits.usesFallback()) return ok('Redis counts the limits.');
      const { says, remedy } = await causeOfRedis(settings.redisUrl);
      return failed(`Each instance counts its own limits. ${says}`, remedy);
    } finally {
      await limits.close();
    }
  },
};

/** Connects once to `REDIS_URL`, and returns the usual cause of the failure. */
async function causeOfRedis(url: string): Promise<Diagnosis> {
  const client = createClient({ url, socket: { connectTimeout: ANSWER_WITHIN_MS, reconnectStrategy: false } });
  client.on('error', () => {}); // the promise rejects with the same error
  const pong = client.connect().then(() => client.ping());
  pong.catch(() => {}); // nothing awaits it after the time-out
  try {
    const answer = await Promise.race([pong, systemClock.sleep(ANSWER_WITHIN_MS)]);
    if (answer === undefined) return await causeOfNoAnswer(url, undefined);
    const remedy = 'See the log of Redis. This user must be allowed to run scripts (eval, evalsha).';
    return { says: 'Redis answers, but does not count.', remedy };
  } catch (error) {
    if (!(error instanceof ErrorReply)) return await causeOfNoAnswer(url, (error as NodeJS.ErrnoException).code);
    const remedy = 'Correct the user, the password or the number of the database in REDIS_URL.';
    return { says: `Redis says: ${withoutArguments(error)}.`, remedy };
  } finally {
    client.destroy();
  }
}

/**
 * Returns an error's message without the arguments of a command. Older servers repeat an unknown command behind a comma
 * and in quotes, and the command may contain the password.
 */
function withoutArguments({ message }: ErrorReply): string {
  const [words = ''] = message.split(/[,:;`'"]/, 1);
  return printable(words).trim().replace(/\.$/, '');
}

async function causeOfNoAnswer(url: string, code: string | undefined): Promise<Diagnosis> {
  const usual = causeOfError(code, REDIS);
  // If a connection hangs or ends, client and server may disagree about TLS.
  const isVague = usual === undefined || /^(ECONNRESET|EPIPE|ETIMEDOUT)$/.test(code ?? '');
  const port = portOf(url, 6379);
  if (isVague && /^rediss:/i.test(url) && (await speaksRedis(port))) return tlsMismatch(REDIS, false);
  if (isVague && /^redis:/i.test(url) && (await speaksTls(port))) return tlsMismatch(REDIS, true);
  return usual ?? { says: 'No Redis answers at this address.', remedy: 'Check host and port in REDIS_URL.' };
}
