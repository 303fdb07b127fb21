/** `npm run credentials`: issues, rotates, revokes and lists agent credentials (reference §13.6). */
import { SCOPES, type Scope, scopeOf } from '../credentials/clients.ts';
import { readClients } from '../credentials/edit.ts';
import { isExpired } from '../credentials/file.ts';
import {
  issueCredential,
  labelClient,
  type ManagedFile,
  type RefusedChange,
  revokeCredential,
  rotateCredential,
} from '../credentials/manage.ts';
import { systemClock } from '../platform/clock.ts';
import { durationOf, timeOf } from './arguments.ts';
import { ExitFault, UsageFault } from './command-errors.ts';
import { type Call, runnerOf } from './command-line.ts';
import { loadSettings } from './open-store.ts';
import { printTable, tableOf } from './terminal.ts';

const expiresOption = { '--expires DATE': 'end of the new credential, such as 2027-01-01 (default: never)' };

export const run = runnerOf({
  invocation: 'npm run credentials --',
  description: 'Manages the credentials of agents. A running service applies a change within 5 s.',
  examples: [
    'npm run credentials -- issue acme-assistant --label "Acme Assistant"',
    `npm run credentials -- issue acme-assistant --scope ${scopeOf.preview} --expires 2027-01-01`,
    'npm run credentials -- issue acme-test --sandbox',
    'npm run credentials -- rotate acme-assistant --overlap 7d',
    'npm run credentials -- label acme-assistant "Acme Assistant"',
    'npm run credentials -- revoke acme-assistant --credential c_1',
    'npm run credentials -- list --json',
  ],
  subcommands: {
    issue: {
      description: 'Create a client and print its token once. Only the SHA-256 of the token is stored.',
      operands: ['name'],
      options: {
        '--label LABEL': 'text that people see instead of the name, 1 to 60 characters',
        '--sandbox': 'a client for tests, of which the service sends and mails nothing',
        '--scope SCOPE': `${SCOPES.join(' or ')}, repeatable (default: both)`,
        ...expiresOption,
      },
      run: issue,
    },
    rotate: {
      description: 'Add a token to a client. Its other tokens expire after the overlap.',
      operands: ['name'],
      options: {
        '--overlap DURATION': 'time for which old tokens stay valid, such as 30m or 7d (default: 24h)',
        ...expiresOption,
      },
      run: rotate,
    },
    label: {
      description: 'Set or replace the label of a client',
      operands: ['name', 'label'],
      run: setLabel,
    },
    revoke: {
      description: 'Remove a client, or one of its credentials',
      operands: ['name'],
      options: { '--credential ID': 'only this credential, such as c_1', '--yes': 'no confirmation prompt' },
      run: remove,
    },
    list: { description: 'List clients with their labels, kinds, scopes, credentials and dates', run: list },
  },
});

async function issue(call: Call): Promise<void> {
  const file = credentialsFile();
  const name = call.operand('name');
  const client = {
    name,
    label: call.text('label'),
    sandbox: call.flag('sandbox'),
    scopes: scopesOf(call),
    expiresAt: timeOf(call, 'expires') ?? null,
  };
  printToken(call, client.expiresAt, accepted(name, await issueCredential(file, client)));
}

async function rotate(call: Call): Promise<void> {
  const file = credentialsFile();
  const name = call.operand('name');
  const overlapMs = durationOf(call, 'overlap', '24h');
  const expiresAt = timeOf(call, 'expires') ?? null;
  const rotated = accepted(name, await rotateCredential(file, { name, overlapMs, expiresAt }));
  const ends = new Date(file.now.getTime() + overlapMs);
  printToken(call, expiresAt, rotated, `The old tokens expire at ${ends.toISOString()}.`);
}

function printToken(
  { terminal }: Call,
  expiresAt: Date | null,
  { client, credential, token }: { client: string; credential: string; token: string },
  note?: string,
): void {
  if (terminal.json) {
    const expires_at = expiresAt?.toISOString() ?? null;
    terminal.print(JSON.stringify({ client, credential, token, expires_at }));
    return;
  }
  terminal.say(`Token of ${client}, ${credential}. The token is shown only once, so store it safely.`);
  if (note !== undefined) terminal.say(note);
  terminal.print(token);
}

async function setLabel({ terminal, operand }: Call): Promise<void> {
  const name = operand('name');
  const { client, label } = accepted(name, await labelClient(credentialsFile(), name, operand('label')));
  terminal.say(`${client} is now shown as ${label}. A running service shows it within 5 s.`);
  if (terminal.json) terminal.print(JSON.stringify({ client, label }));
}

async function remove({ terminal, operand, text, flag }: Call): Promise<void> {
  const name = operand('name');
  const id = text('credential');
  const what = id === undefined ? `every credential of ${name}` : `${id} of ${name}`;
  if (!(await terminal.confirm(`Revoke ${what}?`, flag('yes')))) {
    throw new ExitFault('Nothing was revoked.');
  }
  accepted(name, await revokeCredential(credentialsFile(), { name, credential: id }));
  terminal.say(`Revoked: ${what}. A running service refuses its tokens within 5 s.`);
  if (terminal.json) terminal.print(JSON.stringify({ client: name, credential: id ?? null }));
}

async function list({ terminal }: Call): Promise<void> {
  const { path, now } = credentialsFile();
  const rows = readClients(path).clients.flatMap(({ name, label = null, sandbox = false, scopes, credentials }) =>
    credentials.map(({ id: credential, created_at, expires_at }) => {
      const expired = isExpired(expires_at, now);
      return { client: name, label, sandbox, credential, scopes, created_at, expires_at, expired };
    }),
  );
  if (terminal.json) return terminal.print(JSON.stringify(rows));
  if (rows.length === 0) return terminal.say('There are no clients yet. Create one with `issue`.');
  const cells = rows.map(({ client, label, sandbox, credential, scopes, created_at, expires_at, expired }) => {
    const ends = `${expires_at ?? 'never'}${expired ? ' (expired)' : ''}`;
    return [client, label ?? '', sandbox ? 'sandbox' : 'real', credential, scopes.join(' '), created_at, ends];
  });
  const head = ['CLIENT', 'LABEL', 'KIND', 'CREDENTIAL', 'SCOPES', 'CREATED', 'EXPIRES'];
  printTable(terminal, tableOf([head, ...cells]));
}

/** Returns the change. Throws `ExitFault` with a sentence if the change was refused. */
function accepted<Changed extends { kind: 'changed' }>(name: string, result: Changed | RefusedChange): Changed {
  if (result.kind === 'changed') return result;
  switch (result.why) {
    case 'badName':
      throw new UsageFault('A name has at most 100 letters, digits, dots, dashes and underscores.');
    case 'badLabel':
      throw new UsageFault('A label has 1 to 60 visible characters on one line, and no hidden ones.');
    case 'endIsPast':
      throw new UsageFault('--expires must be in the future.');
    case 'clientExists':
      throw new ExitFault(`${name} already has a credential. Add another with \`rotate ${name}\`.`);
    case 'noClient':
      throw new ExitFault(`There is no client ${name}. \`list\` shows all clients.`);
    case 'noCredential':
      throw new ExitFault(`${name} has no such credential. \`list\` shows all credentials.`);
  }
}

function credentialsFile(): ManagedFile {
  const path = loadSettings().settings.credentialsFile;
  if (path !== undefined) return { path, now: systemClock.now() };
  throw new ExitFault('AGENT_CREDENTIALS_FILE is not set. Set it to the path of the credentials file.');
}

function scopesOf({ texts }: Call): Scope[] {
  const given = texts('scope');
  const known = SCOPES.filter((scope) => given.includes(scope));
  if (given.length === 0) return [...SCOPES];
  if (given.every((scope) => known.some((one) => one === scope))) return known;
  throw new UsageFault(`--scope must be ${SCOPES.join(' or ')}.`);
}
