/**
 * Runs the commands of docs/one-box.md as written, with a folder in place of `/`. Commands for users, packages and
 * the firewall are left out, because they need root on a real machine. A shell function starts the units.
 */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { checkOut, commandsUnder, emptyFolder, runCommands } from '../support/documented.ts';
import { freePort } from '../support/free-port.ts';
import { atEndOfFile } from '../support/leftovers.ts';

const PAGE = 'docs/one-box.md';
const oneBox = resolve(import.meta.dirname, '../../deploy/one-box');
const OURS = /\/(?:opt|etc|var\/lib)\/lead-intake|\/etc\/(?:systemd|caddy)|\/usr\/local\/sbin/g;

let root: string;
let port: number;
let mailServer: MailServer;
/** Shell functions that replace programs of the machine. They run before the commands of the page. */
let machine: string;

beforeAll(async () => {
  root = emptyFolder();
  port = await freePort();
  mailServer = await startMailServer({ users: { user: 'password' } });
  checkOut(join(root, 'opt/lead-intake'));
  const copies = join(root, 'opt/lead-intake/deploy/one-box');
  for (const folder of ['etc/systemd/system', 'etc/caddy', 'var/lib/lead-intake-backups', 'usr/local/sbin', copies]) {
    mkdirSync(resolve(root, folder), { recursive: true });
  }
  for (const name of readdirSync(oneBox)) {
    writeFileSync(join(copies, name), below(readFileSync(join(oneBox, name), 'utf8')));
  }
  machine = `
    cd ${root}/opt/lead-intake
    PATH=${root}/usr/local/sbin:$PATH
    chgrp() { :; }
    runuser() { shift 3; "$@"; }
    sleep() { if [ "$1" = 600 ]; then echo waited; else command sleep "$1"; fi; }
    npm() { if [ "$1" = ci ]; then echo "npm $*"; else command npm "$@"; fi; }
    export -f runuser npm
    git() { echo "git $*"; }
    editor() { echo PORT=${port} >> "$1"; }
    install() {
      local given=()
      while [ $# -gt 0 ]; do case "$1" in -o|-g) shift 2;; *) given+=("$1"); shift;; esac; done
      command install "\${given[@]}"
    }
    run_unit() {
      local unit=${root}/etc/systemd/system/$1.service name value
      set -a; . "$(sed -n 's/^EnvironmentFile=//p' $unit)"; set +a
      export $(sed -n 's/^Environment=//p' $unit)
      umask "$(sed -n 's/^UMask=//p' $unit)"
      cd "$(sed -n 's/^WorkingDirectory=//p' $unit)"
      eval "exec $(sed -n 's/^ExecStart=//p' $unit | sed 's/%%/%/g')"
    }
    stop_service() {
      kill "$(cat ${root}/pid)"
      while kill -0 "$(cat ${root}/pid)" 2> /dev/null; do command sleep 0.05; done
    }
    start_service() {
      ( run_unit lead-intake ) > ${root}/log 2>&1 < /dev/null & echo $! > ${root}/pid
      until curl -fs http://127.0.0.1:${port}/readyz > /dev/null; do command sleep 0.1; kill -0 "$(cat ${root}/pid)"; done
    }
    systemctl() {
      case "$*" in
        'start lead-intake-backup') ( run_unit lead-intake-backup ) ;;
        'enable --now lead-intake lead-intake-backup.timer' | 'start lead-intake') start_service ;;
        'stop lead-intake') stop_service ;;
        'restart lead-intake') stop_service; start_service ;;
        daemon-reload | 'reload caddy') ;;
        *) echo "nothing here does systemctl $*" >&2; return 1 ;;
      esac
    }
  `;
  atEndOfFile(() => runCommands(`${machine} [ ! -f ${root}/pid ] || stop_service`, root));
});
afterAll(() => mailServer.close());

/** Returns the text with the paths of the service moved below the folder of this test. */
function below(text: string): string {
  return text.replace(OURS, (path) => root + path);
}

/** Runs commands of the page with the replaced programs. Returns their output. */
async function run(...commands: string[]) {
  const script = below(commands.join('\n')).replace(
    'smtps://user:password@mail.example:465',
    `smtp://user:password@127.0.0.1:${mailServer.port}`,
  );
  const ran = await runCommands(machine + script, root);
  expect(ran.status, ran.stderr).toBe(0);
  return ran.stdout;
}

async function lead(email: string): Promise<number> {
  const { status } = await fetch(`http://127.0.0.1:${port}/api/leads`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.5' },
    body: JSON.stringify({ email }),
  });
  return status;
}

const held = async () => await run('as_service inbox -- list');
const backups = () => readdirSync(join(root, 'var/lib/lead-intake-backups'));

test('commands of “Settings and secrets” apply the settings to every command and create a credential', async () => {
  const said = await run(...commandsUnder(PAGE, 'Settings and secrets'));
  expect(said).toMatch(/^BASE_URL +https:\/\/paint\.example +/m);
  expect(said).toContain(`${root}/var/lib/lead-intake`);
  expect(said).toMatch(/^lia_\w+$/m);
  const mode = (path: string) => (statSync(join(root, path)).mode & 0o777).toString(8);
  expect([
    mode('etc/lead-intake/environment'),
    mode('etc/lead-intake/preview-signing-keys'),
    mode('etc/lead-intake/receipt-signing-keys'),
    mode('etc/lead-intake/smtp-url'),
    mode('var/lib/lead-intake'),
    mode('var/lib/lead-intake/agents.json'),
  ]).toEqual(['640', '640', '640', '640', '700', '600']);
});

test('commands of “Start” install the units and start the service, and doctor reports no problem', async () => {
  const said = await run(...commandsUnder(PAGE, 'Start'));
  expect(said).toMatch(/^ok +test message/m);
  expect(said).not.toMatch(/^(failed|warning|off)/m);
  expect(readdirSync(join(root, 'etc/systemd/system')).sort()).toEqual([
    'lead-intake-backup.service',
    'lead-intake-backup.timer',
    'lead-intake.service',
  ]);
  expect(readdirSync(join(root, 'etc/caddy'))).toEqual(['Caddyfile']);
});

test('commands of “Backup” restore a lead from before the backup, and no lead from after the backup', async () => {
  const [back = '', restore = ''] = (commandsUnder(PAGE, 'Backup')[0] ?? '')
    .split(/(?<=\n)(?=systemctl stop)/)
    .map((commands) => commands.replace('restore --', 'restore -- --yes'));
  expect(await lead('before@example.com')).toBe(200);
  await run(back);
  expect(backups()).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\d-\d{6}\.db$/)]);
  expect(await lead('after@example.com')).toBe(200);
  expect(await held()).toMatch(/before@[\s\S]*after@|after@[\s\S]*before@/);
  const said = await run(restore.replace('FILE.db', backups()[0] ?? ''));
  expect(said).toContain('waited');
  const afterwards = await held();
  expect(afterwards).toContain('before@example.com');
  expect(afterwards).not.toContain('after@example.com');
});

test('commands of “Upgrade” make a backup and restart the service, and doctor reports no problem', async () => {
  const said = await run(...commandsUnder(PAGE, 'Upgrade'));
  expect(said).toMatch(/git checkout VERSION\nnpm ci --omit=dev\n/);
  expect(said).not.toMatch(/^(failed|warning|off)/m);
  expect(backups()).toHaveLength(2);
});

test('“Install” and “Firewall” contain only commands that need root, which this test does not run', () => {
  const others = ['Install', 'Firewall'].flatMap((heading) => commandsUnder(PAGE, heading));
  const programs = others.join('').match(/^\w[\w-]+/gm);
  expect(new Set(programs)).toEqual(new Set(['apt-get', 'useradd', 'git', 'ufw']));
});
