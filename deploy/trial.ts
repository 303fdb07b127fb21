/** Starts the built root as a container runtime would, and tries what a deployment relies on. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../test/support/free-port.ts';
import type { Image } from './dockerfile.ts';
import { cannotWrite, doors, doorsOfThread } from './trial-programs.ts';

const START_WITHIN_MS = 15_000;
const TOKEN = 'token-of-the-trial';

/** Tries the image. Throws if something is not as it should be. */
export async function tryImage(image: Image, root: string, volume: string): Promise<void> {
  const [user = 0, group = 0] = (image.user ?? '').split(':').map(Number);
  must(user > 0 && group > 0, 'The user must be a number, and not root.');
  mkdirSync(volume, { mode: 0o700 });
  chownSync(volume, user, group);
  writeFileSync(join(volume, 'agents.json'), JSON.stringify(clients), { mode: 0o644 });
  // A runtime creates these before it makes the root read-only.
  for (const name of ['proc', 'dev']) mkdirSync(join(root, name), { recursive: true });

  const port = await freePort();
  const contained = {
    image,
    root,
    volume,
    environment: { ...image.environment, ...settings, PORT: `${port}` },
  };
  await tryInside(contained, cannotWrite, 'The root is read-only, the volume is not.');
  await tryBehindWall(contained);

  const service = start(contained, [...image.entrypoint, ...image.command], 'pipe');
  let said = '';
  for (const stream of [service.stdout, service.stderr]) {
    stream?.on('data', (text) => {
      said += text;
    });
  }
  const exited = statusOf(service);
  try {
    const url = `http://127.0.0.1:${port}`;
    await untilItAnswers(`${url}/healthz`, service, () => said);
    const status = readFileSync(`/proc/${processIn(service)}/status`, 'utf8');
    must(new RegExp(`^Uid:\\s+${user}\\s+${user}`, 'm').test(status), 'It runs as another user.');
    must(/^CapEff:\s+0+$/m.test(status) && /^NoNewPrivs:\s+1$/m.test(status), 'It could gain rights.');
    must(/^NSpid:.*\s1$/m.test(status), 'It is not the first process of its namespace.');
    tell(`It answers, as user ${user} without any capability, as process 1.`);

    const health = start(contained, image.healthCheck ?? [], 'ignore');
    must((await statusOf(health)) === 0, 'HEALTHCHECK fails.');
    tell('HEALTHCHECK says it is well.');

    const authorization = { authorization: `Bearer ${TOKEN}` };
    const preview = await fetch(`${url}/api/agent/actions/newsletter/preview`, {
      method: 'POST',
      headers: authorization,
      body: '{"email":"ada@example.com"}',
    });
    const previewed = (await preview.json()) as Record<string, string>;
    const execution = await fetch(`${url}/api/agent/actions/newsletter/execute`, {
      method: 'POST',
      headers: { ...authorization, 'idempotency-key': 'trial' },
      body: JSON.stringify({
        preview_id: previewed.preview_id,
        confirmation: true,
        confirmation_text: previewed.confirmation_statement,
      }),
    });
    must(preview.status === 200 && execution.status === 200, `Not 200, 200: ${said}`);
    tell('A preview and its execution are 200.');

    process.kill(processIn(service), 'SIGTERM');
    must((await exited) === 0, 'SIGTERM does not end it with exit status 0.');
    tell('SIGTERM ends it with exit status 0.');
  } finally {
    service.kill('SIGKILL');
  }
}

/** Settings that load every optional part. */
const settings = {
  BASE_URL: 'https://example.com',
  UPSTREAM_URL: 'inbox:',
  CONTRACTOR_ID: 'c-1',
  CONTRACTOR_NAME: 'Vetted Painters',
  PREVIEW_SIGNING_KEYS: Buffer.alloc(32, 'key').toString('base64'),
  AGENT_CREDENTIALS_FILE: '/data/agents.json',
  SMTP_URL: 'smtp://127.0.0.1:1',
  MAIL_FROM: 'hello@example.com',
  REDIS_URL: 'redis://127.0.0.1:1',
};
const clients = {
  clients: [
    {
      name: 'trial',
      scopes: ['lead:preview', 'lead:create'],
      credentials: [
        {
          id: 'c_1',
          sha256: createHash('sha256').update(TOKEN).digest('hex'),
          created_at: '2026-09-01T00:00:00.000Z',
          expires_at: null,
        },
      ],
    },
  ],
};

type Contained = {
  image: Image;
  root: string;
  volume: string;
  environment: Record<string, string>;
};

/** Starts a command in its own namespaces: read-only root, the volume, /proc and /dev, and the user of the image. */
function start(contained: Contained, command: readonly string[], stdio: 'pipe' | 'ignore'): ChildProcess {
  const { image, root, volume, environment } = contained;
  const [user, group] = (image.user ?? '').split(':');
  const script = [
    'mount --bind "$0" "$0"',
    'mount -t proc proc "$0/proc"',
    'mount --rbind /dev "$0/dev"',
    `mount --bind "$1" "$0${image.volumes[0]}"`,
    'mount -o remount,bind,ro "$0"',
    'shift',
    `exec setpriv --no-new-privs unshare --root="$0" --wd=${image.workdir} --setgid=${group} --setuid=${user} "$@"`,
  ].join(' && ');
  const namespaces = ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child'];
  return spawn('unshare', [...namespaces, 'sh', '-ec', script, root, volume, ...command], {
    env: { PATH: process.env.PATH ?? '', ...environment },
    stdio: ['ignore', stdio, stdio],
  });
}

/** Runs a program with the Node.js of the image, without the permission flags. */
function tryInside(contained: Contained, program: string, says: string): Promise<void> {
  const [node = ''] = contained.image.entrypoint;
  return tryCommand(contained, [node, '-e', program], says);
}

/** Runs the forbidden actions with the flags of the service. */
async function tryBehindWall(contained: Contained): Promise<void> {
  const { entrypoint } = contained.image;
  await tryCommand(contained, [...entrypoint, '-e', doors], 'Every door that is barred really is.');
  await tryCommand(contained, [...entrypoint, '-e', doorsOfThread], 'They are barred for a thread as well.');
}

/** Runs a command. Throws if its exit status is not 0. */
async function tryCommand(contained: Contained, command: readonly string[], says: string): Promise<void> {
  const child = start(contained, command, 'pipe');
  let said = '';
  child.stderr?.on('data', (text) => {
    said += text;
  });
  must((await statusOf(child)) === 0, said);
  tell(says);
}

function statusOf(child: ChildProcess): Promise<number | null> {
  return new Promise((settle) => void child.once('close', settle));
}

/** Returns the id of the process behind `unshare`, which stays outside of the namespace. */
function processIn(child: ChildProcess): number {
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
  return Number(children.trim().split(' ')[0]);
}

async function untilItAnswers(url: string, child: ChildProcess, said: () => string): Promise<void> {
  const deadline = performance.now() + START_WITHIN_MS;
  while (performance.now() < deadline && child.exitCode === null) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.status === 200) return;
    await sleep(50);
  }
  throw new Error(`It does not answer: ${said()}`);
}

function must(isSo: boolean, otherwise: string): void {
  if (!isSo) throw new Error(otherwise);
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}
