/**
 * `deploy/steps.sh` runs the steps of the Dockerfile one by one without Docker, in a temporary folder. Then it tries
 * the result as a container would run it. It replaces `docker build` and `docker run`, and prints the differences.
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { type Copy, readDockerfile, type Stage } from './dockerfile.ts';
import { tryImage } from './trial.ts';

const project = resolve(import.meta.dirname, '..');
const LARGE_BYTES = 50 * 1024 * 1024;

/**
 * Folders of this machine that are visible in a stage. They replace those of the base image, which is not available
 * here.
 */
const SYSTEM_FOLDERS = [
  'bin',
  'sbin',
  'lib',
  'lib32',
  'lib64',
  'usr',
  'etc',
  'opt',
  'var',
  'root',
  'run',
  'dev',
  'proc',
  'sys',
];

async function main(): Promise<void> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    throw new Error('This needs Linux and root: it mounts, and changes users, in namespaces.');
  }
  const folder = mkdtempSync(join(tmpdir(), 'image-'));
  try {
    const stages = readDockerfile(readFileSync(join(project, 'deploy/Dockerfile'), 'utf8'));
    const roots = new Map<string, string>();
    for (const [index, stage] of stages.entries()) {
      const root = join(folder, `stage-${index}`);
      roots.set(stage.name ?? `${index}`, root);
      build(stage, root, roots);
    }
    const [image, root] = [stages.at(-1)?.image, [...roots.values()].at(-1)];
    if (image === undefined || root === undefined) throw new Error('There is no stage.');
    weigh(root);
    await tryImage(image, root, join(folder, 'volume'));
    say('The image does what it should. It was not built by Docker: this machine’s own libraries and');
    say('bootstrap Node.js stood for those of the base image, and the kernel’s namespaces for a runtime.');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function build(stage: Stage, root: string, roots: ReadonlyMap<string, string>): void {
  say(`FROM ${stage.base}${stage.base === 'scratch' ? '' : ' (this machine stands for it)'}`);
  mkdirSync(root, { mode: 0o755 });
  let workdir = '/';
  for (const step of stage.steps) {
    if (step.kind === 'workdir') {
      workdir = resolve(workdir, step.path);
      mkdirSync(join(root, workdir), { recursive: true });
    } else if (step.kind === 'copy') {
      say(`COPY ${step.copy.paths.join(' ')}`);
      copy(step.copy, root, workdir, roots);
    } else {
      say(`RUN ${step.command.slice(0, 100)}…`);
      run(step.command, root, workdir);
    }
  }
}

/** Copies as Docker does: a folder's content goes into the destination, a file beside the others. */
function copy(step: Copy, root: string, workdir: string, roots: ReadonlyMap<string, string>): void {
  const from = step.from === undefined ? project : roots.get(step.from);
  if (from === undefined) throw new Error(`There is no stage ${step.from}.`);
  const [last = '', ...others] = step.paths.toReversed();
  const destination = join(root, resolve(workdir, last));
  for (const path of others.toReversed()) {
    const source = join(from, path);
    const isFolder = statSync(source).isDirectory();
    const target = isFolder || !last.endsWith('/') ? destination : join(destination, basename(path));
    cpSync(source, target, { recursive: true, verbatimSymlinks: true });
    const [user, group] = (step.owner ?? '0:0').split(':').map(Number);
    for (const each of filesBelow(target)) lchownSync(each, user ?? 0, group ?? 0);
  }
}

function filesBelow(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  const inside = readdirSync(path, { recursive: true }).map((name) => join(path, String(name)));
  return [path, ...inside];
}

/** Runs a command in the root of a stage, with this machine's own system folders mounted in it. */
function run(command: string, root: string, workdir: string): void {
  const seen = SYSTEM_FOLDERS.filter((name) => existsSync(`/${name}`));
  const mounts = seen.map((name) => `mkdir -p "$0/${name}" && mount --rbind "/${name}" "$0/${name}"`);
  const script = [...mounts, 'mkdir -p "$0/tmp"', 'exec chroot "$0" sh -ec "cd $1; $2"'].join(' && ');
  const argv = ['--mount', '--propagation', 'private', 'sh', '-ec', script, root, workdir, command];
  // The variables that `npm run` sets for this project would mislead the npm inside.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(npm_(package|lifecycle)_|npm_config_local_prefix$|INIT_CWD$)/.test(name),
    ),
  );
  const done = spawnSync('unshare', argv, { encoding: 'utf8', env });
  if (done.status !== 0) throw new Error(`It failed:\n${done.stdout}${done.stderr}`);
}

/** Prints the size. Throws unless Node.js is in the image once and no other file is large. */
function weigh(root: string): void {
  const files = filesBelow(root).map((path) => ({
    path,
    stat: statSync(path, { throwIfNoEntry: false }),
  }));
  const known = new Map<number, number>();
  for (const { stat } of files) if (stat?.isFile()) known.set(stat.ino, stat.size);
  const large = files.filter(({ path, stat }) => (stat?.size ?? 0) > LARGE_BYTES && !path.includes('/.bin/'));
  if (large.length !== 1) throw new Error(`Large: ${large.map(({ path }) => path).join(', ')}`);
  const megabytes = [...known.values()].reduce((sum, size) => sum + size, 0) / 1024 / 1024;
  say(`The image has ${known.size} files, ${Math.round(megabytes)} MB; its Node.js is there once.`);
}

main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
