/**
 * The schedule of faults. Several lanes run at the same time. Each lane causes faults at random times that depend on
 * the seed.
 */

import type { Disk } from './disk.ts';
import type { Instance } from './instances.ts';
import { beginFault } from './ledger.ts';
import type { MailServer } from './mail-server.ts';
import type { Run } from './run.ts';
import type { Server } from './servers.ts';
import type { Upstream } from './upstream.ts';

export type Lane = {
  /** Shortest and longest time between two faults, in milliseconds. */
  every: readonly [number, number];
  strike(): Promise<void>;
};

const hold = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));

/** Runs all lanes until the fault phase ends. A fault that has begun is undone before this function resolves. */
export async function runLanes(run: Run, lanes: readonly Lane[]): Promise<void> {
  await Promise.all(
    lanes.map(async ({ every, strike }) => {
      while (run.phase === 'faults') {
        await run.rest(run.random.between(...every));
        if (run.phase === 'faults') await strike();
      }
    }),
  );
}

/** Sends SIGKILL to an instance that is up, and sometimes to an instance that is starting. */
export function kills(run: Run, instances: readonly Instance[], every: Lane['every']): Lane {
  return {
    every,
    strike: async () => {
      const wanted = run.random.chance(0.1) ? ['starting', 'up'] : ['up'];
      const victims = instances.filter(({ state }) => wanted.includes(state));
      if (victims.length === 0) return;
      const victim = run.random.pick(victims);
      const healed = beginFault(run.ledger, 'kill -9 of an instance', victim.name);
      await victim.kill();
      healed();
    },
  };
}

/**
 * Pauses an instance for longer than a lease. After the pause, the instance must not start a send that it had prepared.
 */
export function pauses(run: Run, instances: readonly Instance[], leaseMs: number): Lane {
  return {
    every: [6_000, 14_000],
    strike: async () => {
      const victims = instances.filter(({ state }) => state === 'up');
      if (victims.length === 0) return;
      const victim = run.random.pick(victims);
      const healed = beginFault(run.ledger, 'SIGSTOP beyond the lease', victim.name);
      victim.pause();
      await hold(leaseMs + run.random.between(500, 3_000));
      victim.resume();
      healed();
    },
  };
}

/**
 * Stops PostgreSQL in its fast or immediate mode and restarts it at once or seconds later. Sometimes freezes it
 * instead.
 */
export function postgresFaults(run: Run, postgres: Server, workers: () => number[]): Lane {
  const stop = async (name: string, signal: NodeJS.Signals, ms: number) => {
    const healed = beginFault(run.ledger, name);
    await postgres.stop(signal);
    await hold(ms);
    await postgres.start();
    healed();
  };
  const hang = async () => {
    const healed = beginFault(run.ledger, 'PostgreSQL frozen');
    const stopped = workers();
    for (const pid of stopped) send(pid, 'SIGSTOP');
    await hold(run.random.between(1_000, 8_000));
    for (const pid of stopped) send(pid, 'SIGCONT');
    healed();
  };
  return {
    every: [6_000, 14_000],
    strike: () => {
      const { random } = run;
      return random.pick([
        () => stop('PostgreSQL restarted (fast)', 'SIGINT', 0),
        () => stop('PostgreSQL restarted (immediate)', 'SIGQUIT', 0),
        () => stop('PostgreSQL stopped for seconds', 'SIGQUIT', random.between(1_000, 5_000)),
        hang,
      ])();
    },
  };
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has already ended.
  }
}

/** Stops Redis or freezes it. */
export function redisFaults(run: Run, redis: Server): Lane {
  return {
    every: [18_000, 32_000],
    strike: async () => {
      const { random, ledger } = run;
      if (random.chance(0.5)) {
        const healed = beginFault(ledger, 'Redis stopped');
        await redis.stop('SIGKILL');
        await hold(random.between(300, 3_000));
        await redis.start();
        healed();
      } else {
        const healed = beginFault(ledger, 'Redis frozen');
        redis.signal('SIGSTOP');
        await hold(random.between(500, 3_000));
        redis.signal('SIGCONT');
        healed();
      }
    },
  };
}

/** Freezes the upstream or resets all its connections. `upstream.ts` draws the fate of each single request. */
export function upstreamFaults(run: Run, upstream: Upstream): Lane {
  return {
    every: [3_000, 9_000],
    strike: async () => {
      if (run.random.chance(0.5)) {
        const healed = beginFault(run.ledger, 'upstream frozen');
        upstream.freeze();
        await hold(run.random.between(500, 4_000));
        upstream.thaw();
        healed();
      } else {
        beginFault(run.ledger, 'upstream resets all connections')();
        upstream.reset();
      }
    },
  };
}

/** Start and end of the outage of the upstream, as fractions of the run. The outage lasts minutes in a long run. */
const AWAY = { from: 0.3, to: 0.65 };

/** Closes the upstream's port once, for a large part of the run. */
export function upstreamOutage(run: Run, upstream: Upstream, minutes: number): Lane {
  let over = false;
  return {
    every: [AWAY.from * minutes * 60_000, AWAY.from * minutes * 60_000],
    strike: async () => {
      if (over) return;
      over = true;
      const healed = beginFault(run.ledger, 'upstream away');
      await upstream.leave();
      await hold((AWAY.to - AWAY.from) * minutes * 60_000);
      await upstream.comeBack();
      healed();
    },
  };
}

/**
 * Stops SMTP for a short time, so that the first retry after a minute falls between two stops. So each message reaches
 * the server with that retry, and the run does not wait for the second back-off.
 */
export function mailFaults(run: Run, mail: MailServer): Lane {
  return {
    every: [35_000, 40_000],
    strike: async () => {
      const healed = beginFault(run.ledger, 'SMTP stopped');
      await mail.stop();
      await hold(run.random.between(1_500, 3_000));
      await mail.start();
      healed();
    },
  };
}

/** Fills the disk for a short time. */
export function diskFaults(run: Run, disk: Disk): Lane {
  return {
    every: [5_000, 11_000],
    strike: async () => {
      const healed = beginFault(run.ledger, 'disk full');
      disk.fill();
      await hold(run.random.between(500, 4_000));
      disk.free();
      healed();
    },
  };
}
