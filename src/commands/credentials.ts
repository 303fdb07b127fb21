/** `npm run credentials`: issue, rotate, revoke and list agent credentials (spec §5). */
import { systemClock } from '../clock.ts';
import { type Change, issue, type NewCredential, revoke, rotate } from '../credentials/changes.ts';
import { type ClientsFile, isExpired } from '../credentials/clients.ts';
import { editClients, readClients } from '../credentials/edit.ts';
import { SCOPES, type Scope, scopeOf } from '../credentials/scopes.ts';
import { digestOfToken, generateToken } from '../credentials/tokens.ts';
import type { Call } from './command.ts';
import { runnerOf } from './command-line.ts';
import { loadSettings } from './configuration.ts';
import { ExitFault, UsageFault } from './faults.ts';
import { parseDuration, parseMoment } from './moments.ts';
import { printTable, tableOf } from './terminal.ts';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

const expires = {
  type: 'string',
  value: 'DATE',
  meaning: 'when the new credential ends, like 2027-01-01; without it, never',
} as const;

export const run = runnerOf({
  invocation: 'npm run credentials --',
  meaning: 'The bearer credentials of agents. A change counts within 5 s, without a restart.',
  examples: [
    'npm run credentials -- issue acme-assistant',
    `npm run credentials -- issue acme-assistant --scope ${scopeOf.preview} --expires 2027-01-01`,
    'npm run credentials -- rotate acme-assistant --overlap 7d',
    'npm run credentials -- revoke acme-assistant --credential c_1',
    'npm run credentials -- list --json',
  ],
  actions: {
    issue: {
      meaning: 'a new client; its token is printed once, and only its SHA-256 is kept',
      operands: ['name'],
      options: {
        scope: {
          type: 'string',
          multiple: true,
          value: 'SCOPE',
          meaning: `${SCOPES.join(' or ')}, as often as needed; without it, both`,
        },
        expires,
      },
      run: (call) =>
        change(call, (credential, name) => ({
          apply: (file) => issue(file, name, scopesOf(call), credential),
        })),
    },
    rotate: {
      meaning: 'a further token for a client; the ones it has end after the overlap',
      operands: ['name'],
      options: {
        overlap: {
          type: 'string',
          value: 'DURATION',
          meaning: 'how long the old tokens still work: 30m, 24h, 7d (24h)',
        },
        expires,
      },
      run: (call) => {
        const overlap = parseDuration('--overlap', call.text('overlap') ?? '24h');
        return change(call, (credential, name) => {
          const ends = new Date(credential.createdAt.getTime() + overlap);
          return {
            apply: (file) => rotate(file, name, credential, ends),
            note: `The old tokens end at ${ends.toISOString()}.`,
          };
        });
      },
    },
    revoke: {
      meaning: 'removes a client, or one of its credentials, at once',
      operands: ['name'],
      options: {
        credential: { type: 'string', value: 'ID', meaning: 'this one alone, like c_1' },
        yes: { type: 'boolean', meaning: 'do not ask' },
      },
      run: remove,
    },
    list: {
      meaning: 'the clients, their scopes, and their credentials with their dates',
      run: list,
    },
  },
});

type Plan = { apply(file: ClientsFile): Change; note?: string };

async function change(
  call: Call,
  plan: (credential: NewCredential, name: string) => Plan,
): Promise<void> {
  const name = call.operand('name');
  if (!NAME.test(name)) {
    throw new UsageFault('A name is letters, digits, dots, dashes and underscores, at most 100.');
  }
  const createdAt = systemClock.now();
  const expiry = call.text('expires');
  const expiresAt = expiry === undefined ? null : parseMoment('--expires', expiry);
  if (expiresAt !== null && expiresAt <= createdAt) throw new UsageFault('--expires is past.');

  const token = generateToken();
  const { apply, note } = plan({ sha256: digestOfToken(token), createdAt, expiresAt }, name);
  const id = await edit(name, apply);
  if (call.terminal.json) {
    const expires_at = expiresAt?.toISOString() ?? null;
    call.terminal.print(JSON.stringify({ client: name, credential: id, token, expires_at }));
    return;
  }
  call.terminal.say(`The token of ${name}, ${id}. It is shown once: keep it safe.`);
  if (note !== undefined) call.terminal.say(note);
  call.terminal.print(token);
}

async function remove(call: Call): Promise<void> {
  const name = call.operand('name');
  const id = call.text('credential');
  const what = id === undefined ? `every credential of ${name}` : `${id} of ${name}`;
  if (!(await call.terminal.confirm(`Revoke ${what}?`, call.flag('yes')))) {
    throw new ExitFault('Nothing was revoked.');
  }
  await edit(name, (file) => revoke(file, name, id));
  call.terminal.say(`Revoked: ${what}. A running service refuses it within 5 s.`);
  if (call.terminal.json)
    call.terminal.print(JSON.stringify({ client: name, credential: id ?? null }));
}

async function list(call: Call): Promise<void> {
  const { clients } = readClients(credentialsPath());
  const now = systemClock.now();
  const rows = clients.flatMap(({ name, scopes, credentials }) =>
    credentials.map(({ id: credential, created_at, expires_at }) => {
      const expired = isExpired(expires_at, now);
      return { client: name, credential, scopes, created_at, expires_at, expired };
    }),
  );
  if (call.terminal.json) return call.terminal.print(JSON.stringify(rows));
  if (rows.length === 0) return call.terminal.say('There are no clients yet: issue a credential.');
  const cells = rows.map(({ client, credential, scopes, created_at, expires_at, expired }) => {
    const ends = `${expires_at ?? 'never'}${expired ? ' (expired)' : ''}`;
    return [client, credential, scopes.join(' '), created_at, ends];
  });
  const head = ['CLIENT', 'CREDENTIAL', 'SCOPES', 'CREATED', 'EXPIRES'];
  printTable(call.terminal, tableOf([head, ...cells]));
}

/** Changes the file; returns the id of the credential, or throws why it stays as it is. */
async function edit(name: string, apply: (file: ClientsFile) => Change): Promise<string> {
  let outcome: Change | undefined;
  await editClients(credentialsPath(), (file) => {
    outcome = apply(file);
    return outcome.kind === 'changed' ? outcome.file : undefined;
  });
  if (outcome?.kind === 'changed') return outcome.credential;
  throw new ExitFault(refusals(name)[outcome?.why ?? 'noClient']);
}

const refusals = (name: string) => ({
  clientExists: `${name} has a credential already: \`rotate ${name}\` adds another.`,
  noClient: `There is no client ${name}; \`list\` shows them.`,
  noCredential: `${name} has no such credential; \`list\` shows them.`,
});

function credentialsPath(): string {
  const path = loadSettings().settings.credentialsFile;
  if (path !== undefined) return path;
  throw new ExitFault('AGENT_CREDENTIALS_FILE is not set: name the file that holds the clients.');
}

function scopesOf(call: Call): Scope[] {
  const given = call.texts('scope');
  const unknown = given.some((scope) => !(SCOPES as readonly string[]).includes(scope));
  if (unknown) throw new UsageFault(`--scope is ${SCOPES.join(' or ')}.`);
  return SCOPES.filter((scope) => given.length === 0 || given.includes(scope));
}
