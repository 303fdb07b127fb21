/** The two deployments: three instances behind nginx on PostgreSQL and Redis, and one instance on SQLite. */
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { LEASE_MARGIN_MS } from '../src/submissions/lead-store.ts';
import type { Apart, StoredExecution } from './checks.ts';
import { openClient } from './client.ts';
import { openDisk } from './disk.ts';
import { drive } from './drive.ts';
import * as faults from './faults.ts';
import { type Instance, startInstance } from './instances.ts';
import type { StoredSubmission } from './kept.ts';
import { type Ledger, openLedger } from './ledger.ts';
import { openMailServer } from './mail-server.ts';
import { temporaryFolder } from './processes.ts';
import type { Random } from './random.ts';
import { openRun, type Run } from './run.ts';
import { openNginx, openPostgres, openRedis } from './servers.ts';
import { startUpstream } from './upstream.ts';

/** A short timeout gives a short lease, so that a pause can be longer than the lease. */
const UPSTREAM_TIMEOUT_MS = 1_000;
const LEASE_MS = UPSTREAM_TIMEOUT_MS + LEASE_MARGIN_MS;

/** Time in which an attempt to send a message ends, whatever its result. */
const ATTEMPT_ENDS_MS = 65_000;

/** Rows that are due later than this have already been redelivered once. The run waits for the first redelivery. */
const FIRST_REDELIVERY_MS = 70_000;

export type Scenario = {
  random: Random;
  minutes: number;
  say(sentence: string): void;
  calm(): void;
};

export type Finished = { ledger: Ledger; apart: Apart };

/** Opens the surroundings and settings that both deployments share. */
async function openWorld(random: Random) {
  const ledger = openLedger();
  const upstream = await startUpstream(ledger, random.fork('upstream'), UPSTREAM_TIMEOUT_MS);
  const mail = await openMailServer(ledger);
  await mail.start();
  const marker = `pii${randomBytes(4).toString('hex')}`;
  const tokens = Object.fromEntries(['alpha', 'beta'].map((name) => [name, randomBytes(24).toString('hex')]));
  const credentialsFile = join(temporaryFolder('settings'), 'agents.json');
  writeFileSync(credentialsFile, JSON.stringify(credentialsOf(tokens)), { mode: 0o600 });
  const environment = {
    NODE_ENV: 'production',
    BASE_URL: 'http://chaos.example',
    UPSTREAM_URL: upstream.url,
    UPSTREAM_SECRET: `whsec_${randomBytes(32).toString('base64')}`,
    UPSTREAM_TIMEOUT_MS: `${UPSTREAM_TIMEOUT_MS}`,
    PREVIEW_SIGNING_KEYS: randomBytes(32).toString('base64'),
    AGENT_CREDENTIALS_FILE: credentialsFile,
    MAIL_FROM: 'service@chaos.example',
    MAIL_PER_MINUTE: '100000',
    CONTRACTOR_ID: 'contractor',
    CONTRACTOR_NAME: 'Vetted Painters',
    TRUST_PROXY: '127.0.0.1',
  };
  const secrets = [marker, ...Object.values(tokens), environment.PREVIEW_SIGNING_KEYS];
  return { ledger, upstream, mail, marker, tokens, environment, secrets };
}

type World = Awaited<ReturnType<typeof openWorld>>;

function credentialsOf(tokens: Record<string, string>) {
  const digest = (token: string) => createHash('sha256').update(token).digest('hex');
  const created_at = '2026-09-01T00:00:00.000Z';
  const clients = Object.entries(tokens).map(([name, token]) => ({
    name,
    scopes: ['lead:preview', 'lead:create'],
    credentials: [{ id: 'c_1', sha256: digest(token), created_at, expires_at: null }],
  }));
  return { clients };
}

function runOf(world: World, random: Random, url: string): Run {
  const { ledger, marker, tokens } = world;
  return openRun({ ledger, marker, tokens, random, client: openClient(url, ledger) });
}

async function endWorld(world: World, run: Run, instances: readonly Instance[]): Promise<void> {
  await Promise.all(instances.map((instance) => instance.end()));
  await run.client.close();
  await world.upstream.close();
  await world.mail.stop();
}

/** Returns the queries that the run sends to the store. */
function readers(query: (statement: string) => Promise<unknown[]>) {
  return {
    readStored: async () => (await query('select action_id, status from executions')) as StoredExecution[],
    readSubmissions: async () =>
      (await query('select id, origin, status, reason, event, attempts from submissions')) as StoredSubmission[],
    countPending: async () => (await query("select key from messages where status = 'pending'")).length,
    bringForward: async () => {
      const before = (ms: number) => new Date(Date.now() - ms).toISOString();
      await query(
        `update messages set next_attempt_at = '${before(0)}' where status = 'pending'
           and next_attempt_at > '${before(0)}' and last_attempt_at < '${before(ATTEMPT_ENDS_MS)}'`,
      );
      await query(
        `update submissions set next_attempt_ms = ${Date.now()} where status = 'waiting' and step > 0
           and next_attempt_ms > ${Date.now() + FIRST_REDELIVERY_MS}`,
      );
    },
  };
}

/** Runs three instances behind nginx, on PostgreSQL and Redis. */
export async function scaledOut({ random, minutes, say, calm }: Scenario): Promise<Finished> {
  const world = await openWorld(random);
  const { ledger, upstream, mail, environment, secrets } = world;
  const postgres = await openPostgres();
  const redis = await openRedis();
  await Promise.all([postgres.start(), redis.start()]);
  const storeIsAway = () => {
    const at = performance.now() - ledger.startedAt;
    return ledger.faults.some(({ name, to }) => name.startsWith('PostgreSQL') && to > at - 5_000);
  };
  const settings = { ...environment, DATABASE_URL: postgres.url, REDIS_URL: redis.url };
  const instances = await Promise.all(
    ['one', 'two', 'three'].map((name) =>
      startInstance({
        name,
        environment: { ...settings, SMTP_URL: mail.urlFor(name) },
        ledger,
        secrets,
        storeIsAway,
      }),
    ),
  );
  const nginx = await openNginx(instances.map(({ port }) => port));
  await nginx.start();
  const ready = async () => void (await Promise.all(instances.map((each) => each.ready())));
  await ready();
  const run = runOf(world, random, nginx.url);
  say('three instances behind nginx, on PostgreSQL and Redis, are ready');
  const apart = await drive({
    run,
    minutes,
    hammers: true,
    leaseMs: LEASE_MS,
    say,
    calm,
    lanes: [
      faults.kills(run, instances, [1_000, 3_000]),
      faults.pauses(run, instances, LEASE_MS),
      faults.postgresFaults(run, postgres, () => postgres.processes()),
      faults.redisFaults(run, redis),
      faults.upstreamFaults(run, upstream),
      faults.upstreamOutage(run, upstream, minutes),
      faults.mailFaults(run, mail),
    ],
    ready: async () => {
      upstream.calm = true;
      await ready();
    },
    ...readers(async (statement) => {
      const client = new pg.Client({ connectionString: postgres.url });
      await client.connect();
      const { rows } = await client.query(statement);
      await client.end();
      return rows;
    }),
  });
  await endWorld(world, run, instances);
  await Promise.all([nginx.stop('SIGTERM'), redis.stop('SIGTERM'), postgres.stop('SIGINT')]);
  return { ledger, apart };
}

/** Runs one instance on SQLite, on a disk that can be filled. */
export async function oneProcess({ random, minutes, say, calm }: Scenario): Promise<Finished> {
  const world = await openWorld(random);
  const { ledger, upstream, mail, environment, secrets } = world;
  const disk = openDisk();
  if (!disk.small) say('the disk is not filled: to mount a small one takes root (CAP_SYS_ADMIN)');
  const settings = { ...environment, DATA_DIR: disk.folder };
  const instance = await startInstance({
    name: 'alone',
    environment: { ...settings, SMTP_URL: mail.urlFor('alone') },
    ledger,
    secrets,
    storeIsAway: () => disk.full,
  });
  await instance.ready();
  const run = runOf(world, random, `http://127.0.0.1:${instance.port}`);
  say('one instance on SQLite is ready');
  const apart = await drive({
    run,
    minutes,
    hammers: false,
    leaseMs: LEASE_MS,
    say,
    calm,
    lanes: [
      faults.kills(run, [instance], [1_500, 3_500]),
      faults.pauses(run, [instance], LEASE_MS),
      faults.upstreamFaults(run, upstream),
      faults.upstreamOutage(run, upstream, minutes),
      faults.mailFaults(run, mail),
      ...(disk.small ? [faults.diskFaults(run, disk)] : []),
    ],
    ready: async () => {
      upstream.calm = true;
      await instance.ready();
    },
    ...readers(async (statement) => {
      const database = new DatabaseSync(join(disk.folder, 'service.db'), { timeout: 5_000 });
      const rows = database.prepare(statement).all();
      database.close();
      return rows;
    }),
  });
  await endWorld(world, run, [instance]);
  return { ledger, apart };
}
