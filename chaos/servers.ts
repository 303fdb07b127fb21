/** Real PostgreSQL, Redis and nginx of the run, on free ports, for the faults to strike. */
import { type ChildProcess, spawnSync } from 'node:child_process';
import { chownSync, copyFileSync, existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setPriority } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { freePort } from '../test/support/free-port.ts';
import { end, start, temporaryFolder, until } from './processes.ts';

const deployed = resolve(import.meta.dirname, '../deploy/nginx.conf');

export type Server = {
  port: number;
  start(): Promise<void>;
  stop(signal: NodeJS.Signals): Promise<void>;
  signal(signal: NodeJS.Signals): void;
};

export type Postgres = Server & {
  url: string;
  /** Returns the process ids. The main process comes first. */
  processes(): number[];
};

/** Returns one sentence for each missing program, with the remedy. */
export function missingPrograms(): string[] {
  const has = (program: string) => spawnSync('which', [program]).status === 0;
  return [
    ...(postgresPrograms() === undefined ? ['PostgreSQL is missing: `apt-get install -y postgresql`.'] : []),
    ...(has('redis-server') ? [] : ['Redis is missing: `apt-get install -y redis-server`.']),
    ...(has('nginx') ? [] : ['nginx is missing: `apt-get install -y nginx`.']),
  ];
}

function postgresPrograms(): string | undefined {
  const [folder] = globSync('/usr/lib/postgresql/*/bin').sort().reverse();
  return folder !== undefined && existsSync(join(folder, 'initdb')) ? folder : undefined;
}

/** Opens a separate cluster with all durability settings on. SIGINT stops it fast, SIGQUIT immediately. */
export async function openPostgres(): Promise<Postgres> {
  const programs = postgresPrograms() ?? '';
  const folder = temporaryFolder('postgres');
  const owner = ownerOfCluster();
  if (owner.uid !== undefined) chownSync(folder, owner.uid, owner.gid ?? owner.uid);
  const data = join(folder, 'data');
  const made = spawnSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', '-E', 'UTF8'],
    { ...owner, cwd: folder, encoding: 'utf8' },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const argv = ['-D', data, '-p', `${port}`, '-k', folder, '-c', 'listen_addresses=127.0.0.1'];
  const answers = async () => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
    client.on('error', () => {});
    await client.connect();
    await client.end();
    return true;
  };
  let child: ChildProcess | undefined;
  const run = () => {
    child = start(join(programs, 'postgres'), argv, { ...owner, cwd: folder, stdio: 'ignore' });
    return child;
  };
  return {
    url,
    ...server(port, run, answers),
    processes: () => (child?.pid === undefined ? [] : [child.pid, ...childrenOf(child.pid)]),
  };
}

function childrenOf(pid: number): number[] {
  const ids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return ids.split(' ').map(Number).filter(Boolean);
}

/** Returns the user for PostgreSQL, which refuses to run as root. Root uses the user that the package created. */
function ownerOfCluster(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (which: string) => Number(spawnSync('id', [which, 'postgres']).stdout.toString());
  return { uid: id('-u'), gid: id('-g') };
}

/** Opens a Redis without persistence. */
export async function openRedis(): Promise<Server & { url: string }> {
  const folder = temporaryFolder('redis');
  const port = await freePort();
  const argv = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const run = () => {
    const child = start('redis-server', [...argv, '--dir', folder], { stdio: 'ignore' });
    // On a busy machine, Redis would answer too late and would not count as up.
    if (process.getuid?.() === 0 && child.pid !== undefined) setPriority(child.pid, -15);
    return child;
  };
  return { url: `redis://127.0.0.1:${port}`, ...server(port, run, () => listens(port)) };
}

/** Opens nginx as it is deployed, in front of these instances. */
export async function openNginx(ports: readonly number[]): Promise<Server & { url: string }> {
  const folder = temporaryFolder('nginx');
  const port = await freePort();
  copyFileSync(deployed, join(folder, 'nginx.conf'));
  // Each request has its client's address, as behind another load balancer. The last line names the instances for a
  // trace.
  const listen = [
    `listen 127.0.0.1:${port};`,
    'set_real_ip_from 127.0.0.1;',
    'real_ip_header X-Forwarded-For;',
    'add_header X-Instance $upstream_addr always;',
  ];
  writeFileSync(join(folder, 'nginx-listen.conf'), `${listen.join('\n')}\n`);
  // With `max_fails=0`, nginx uses a restarted instance at once. Kills come faster than nginx would retry an instance.
  const instances = ports.map((each) => `server 127.0.0.1:${each} max_fails=0;`);
  writeFileSync(join(folder, 'nginx-instances.conf'), `${instances.join('\n')}\n`);
  const user = process.getuid?.() === 0 ? ' user root;' : '';
  const argv = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-g', `daemon off;${user}`];
  const run = () => start('nginx', argv, { stdio: 'ignore' });
  return { url: `http://127.0.0.1:${port}`, ...server(port, run, () => listens(port)) };
}

function server(port: number, run: () => ChildProcess, answers: () => Promise<boolean>): Server {
  let child: ChildProcess | undefined;
  return {
    port,
    start: async () => {
      child = run();
      await until(`an answer on port ${port}`, answers);
    },
    stop: async (signal) => {
      if (child !== undefined) await end(child, signal);
    },
    signal: (signal) => void child?.kill(signal),
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
