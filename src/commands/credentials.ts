/** `npm run credentials`: issues, rotates, revokes and lists agent credentials (reference §13.6). */
import { type Change, issue, type NewCredential, revoke, rotate } from '../credentials/changes.ts';
import { type ClientsFile, SCOPES, type Scope, scopeOf } from '../credentials/clients.ts';
import { editClients, readClients } from '../credentials/edit.ts';
import { digestOfToken, isExpired } from '../credentials/file.ts';
import { generateToken } from '../credentials/tokens.ts';
import { systemClock } from '../platform/clock.ts';
import { durationOf, timeOf } from './arguments.ts';
import { ExitFault, UsageFault } from './command-errors.ts';
import { type Call, runnerOf } from './command-line.ts';
import { loadSettings } from './open-store.ts';
import { printTable, tableOf } from './terminal.ts';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

const expiresOption = { '--expires DATE': 'end of the new credential, such as 2027-01-01 (default: never)' };

export const run = runnerOf({
  invocation: 'npm run credentials --',
  description: 'Manages the credentials of agents. A running service applies a change within 5 s.',
  examples: [
    'npm run credentials -- issue acme-assistant',
    `npm run credentials -- issue acme-assistant --scope ${scopeOf.preview} --expires 2027-01-01`,
    'npm run credentials -- rotate acme-assistant --overlap 7d',
    'npm run credentials -- revoke acme-assistant --credential c_1',
    'npm run credentials -- list --json',
  ],
  subcommands: {
    issue: {
      description: 'Create a client and print its token once. Only the SHA-256 of the token is stored.',
      operands: ['name'],
      options: { '--scope SCOPE': `${SCOPES.join(' or ')}, repeatable (default: both)`, ...expiresOption },
      run: (call) => {
        const scopes = scopesOf(call);
        return change(call, (file, name, credential) => issue(file, name, scopes, credential));
      },
    },
    rotate: {
      description: 'Add a token to a client. Its other tokens expire after the overlap.',
      operands: ['name'],
      options: {
        '--overlap DURATION': 'time for which old tokens stay valid, such as 30m or 7d (default: 24h)',
        ...expiresOption,
      },
      run: (call) => {
        const overlapMs = durationOf(call, 'overlap', '24h');
        const ends = new Date(systemClock.now().getTime() + overlapMs);
        const note = `The old tokens expire at ${ends.toISOString()}.`;
        return change(call, (file, name, credential) => rotate(file, name, credential, ends), note);
      },
    },
    revoke: {
      description: 'Remove a client, or one of its credentials',
      operands: ['name'],
      options: { '--credential ID': 'only this credential, such as c_1', '--yes': 'no confirmation prompt' },
      run: remove,
    },
    list: { description: 'List clients with their scopes, credentials and dates', run: list },
  },
});

async function change(
  call: Call,
  apply: (file: ClientsFile, name: string, credential: NewCredential) => Change,
  note?: string,
): Promise<void> {
  const { terminal } = call;
  const name = call.operand('name');
  if (!NAME.test(name)) {
    throw new UsageFault('A name has at most 100 letters, digits, dots, dashes and underscores.');
  }
  const createdAt = systemClock.now();
  const expiresAt = timeOf(call, 'expires') ?? null;
  if (expiresAt !== null && expiresAt <= createdAt) throw new UsageFault('--expires must be in the future.');

  const token = generateToken();
  const added = { sha256: digestOfToken(token), createdAt, expiresAt };
  const id = await edit(name, (file) => apply(file, name, added));
  if (terminal.json) {
    const expires_at = expiresAt?.toISOString() ?? null;
    return terminal.print(JSON.stringify({ client: name, credential: id, token, expires_at }));
  }
  terminal.say(`Token of ${name}, ${id}. The token is shown only once, so store it safely.`);
  if (note !== undefined) terminal.say(note);
  terminal.print(token);
}

async function remove({ terminal, operand, text, flag }: Call): Promise<void> {
  const name = operand('name');
  const id = text('credential');
  const what = id === undefined ? `every credential of ${name}` : `${id} of ${name}`;
  if (!(await terminal.confirm(`Revoke ${what}?`, flag('yes')))) {
    throw new ExitFault('Nothing was revoked.');
  }
  await edit(name, (file) => revoke(file, name, id));
  terminal.say(`Revoked: ${what}. A running service refuses its tokens within 5 s.`);
  if (terminal.json) terminal.print(JSON.stringify({ client: name, credential: id ?? null }));
}

async function list({ terminal }: Call): Promise<void> {
  const { clients } = readClients(credentialsPath());
  const now = systemClock.now();
  const rows = clients.flatMap(({ name, scopes, credentials }) =>
    credentials.map(({ id: credential, created_at, expires_at }) => {
      const expired = isExpired(expires_at, now);
      return { client: name, credential, scopes, created_at, expires_at, expired };
    }),
  );
  if (terminal.json) return terminal.print(JSON.stringify(rows));
  if (rows.length === 0) return terminal.say('There are no clients yet. Create one with `issue`.');
  const cells = rows.map(({ client, credential, scopes, created_at, expires_at, expired }) => {
    const ends = `${expires_at ?? 'never'}${expired ? ' (expired)' : ''}`;
    return [client, credential, scopes.join(' '), created_at, ends];
  });
  const head = ['CLIENT', 'CREDENTIAL', 'SCOPES', 'CREATED', 'EXPIRES'];
  printTable(terminal, tableOf([head, ...cells]));
}

/** Changes the file and returns the id of the credential. Throws `ExitFault` if the change is refused. */
async function edit(name: string, apply: (file: ClientsFile) => Change): Promise<string> {
  let outcome: Change | undefined;
  await editClients(credentialsPath(), (file) => {
    outcome = apply(file);
    return outcome.kind === 'changed' ? outcome.file : undefined;
  });
  if (outcome?.kind === 'changed') return outcome.credential;
  const refusals = {
    clientExists: `${name} already has a credential. Add another with \`rotate ${name}\`.`,
    noClient: `There is no client ${name}. \`list\` shows all clients.`,
    noCredential: `${name} has no such credential. \`list\` shows all credentials.`,
  };
  throw new ExitFault(refusals[outcome?.why ?? 'noClient']);
}

function credentialsPath(): string {
  const path = loadSettings().settings.credentialsFile;
  if (path !== undefined) return path;
  throw new ExitFault('AGENT_CREDENTIALS_FILE is not set. Set it to the path of the credentials file.');
}

function scopesOf({ texts }: Call): Scope[] {
  const given = texts('scope');
  const known = SCOPES.filter((scope) => given.includes(scope));
  if (given.length === 0) return [...SCOPES];
  if (given.every((scope) => known.some((one) => one === scope))) return known;
  throw new UsageFault(`--scope must be ${SCOPES.join(' or ')}.`);
}
