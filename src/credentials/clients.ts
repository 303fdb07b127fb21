/** Shape of the credentials file, and its validation (reference §16.3). */
import * as v from '@badrap/valita';
import { isName, NAME_RULE } from '../forms/names.ts';
import { checkShape } from '../settings/shape.ts';

/** The scopes that preview and execute need (reference §16.2). */
export const scopeOf = { preview: 'lead:preview', execute: 'lead:create' } as const;

export type Scope = (typeof scopeOf)[keyof typeof scopeOf];

export const SCOPES: readonly Scope[] = Object.values(scopeOf);

const ISO_8601 = /^\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** Maximum lengths of a name and a label, in code points. */
const NAME_LENGTH = 200;
const LABEL_LENGTH = 60;

/** A name or label that is shown in confirmations, in mail, in the console and on a terminal. */
const line = (maximum: number) =>
  v
    .string()
    .assert(
      (text) => isName(maximum, text),
      `must be one line of 1 to ${maximum} visible characters, and must ${NAME_RULE}`,
    );
const name = line(NAME_LENGTH);
const time = v.string().assert(isTime, 'must be an ISO 8601 time');
const sha256 = v
  .string()
  .assert((text) => /^[0-9a-f]{64}$/i.test(text), 'must be 64 hexadecimal digits')
  .map((text) => text.toLowerCase());

// `rest` preserves unknown members when a command edits the file.
const credential = v
  .object({
    id: name,
    sha256,
    created_at: time,
    // `expires_at` is required. Otherwise a misspelt name would make a credential that never expires.
    expires_at: time.nullable(),
  })
  .rest(v.unknown());

const client = v
  .object({
    name,
    /** The text that people and operators see instead of the name. */
    label: line(LABEL_LENGTH).optional(),
    /** True if nothing of this client is sent (reference §27). */
    sandbox: v.boolean().optional(),
    scopes: v.array(v.union(...SCOPES.map((scope) => v.literal(scope)))),
    credentials: v.array(credential),
  })
  .rest(v.unknown());

const schema = v
  .object({ clients: v.array(client) })
  .rest(v.unknown())
  .assert(({ clients }) => areUnique(clients.map(({ name }) => name)), 'two clients have the same name')
  .assert(
    ({ clients }) => clients.every((each) => areUnique(each.credentials.map(({ id }) => id))),
    'two credentials of a client have the same id',
  )
  .assert(
    ({ clients }) => areUnique(clients.flatMap((each) => each.credentials.map(({ sha256 }) => sha256))),
    'two credentials have the same sha256',
  );

export type ClientsFile = v.Infer<typeof schema>;
export type Client = ClientsFile['clients'][number];

export type ParsedClients = { kind: 'valid'; file: ClientsFile } | { kind: 'invalid'; why: string };

/** Parses the text of a credentials file. `why` repeats no value of the file. */
export function parseClients(text: string): ParsedClients {
  let json: unknown;
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    // The parser's own message would repeat a part of the file.
    return { kind: 'invalid', why: 'it is not JSON' };
  }
  const checked = checkShape(schema, json, 'the file');
  return checked.kind === 'valid' ? { kind: 'valid', file: checked.value } : checked;
}

/** Returns a typed label as it is stored, or undefined if the file must not have it. */
export function labelIn(typed: string): string | undefined {
  const label = typed.trim().normalize('NFC');
  return isName(LABEL_LENGTH, label) ? label : undefined;
}

/** Returns true for an ISO 8601 time. Refuses a day that its month lacks, which `Date` moves to the next month. */
function isTime(text: string): boolean {
  const day = text.slice(0, 10);
  const atNoon = new Date(`${day}T12:00:00Z`);
  const isDay = !Number.isNaN(atNoon.getTime()) && atNoon.toISOString().startsWith(day);
  return ISO_8601.test(text) && isDay && !Number.isNaN(Date.parse(text));
}

function areUnique(values: string[]): boolean {
  return new Set(values).size === values.length;
}
