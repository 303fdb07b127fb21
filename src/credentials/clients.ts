/** The shape of the credentials file (contract §2, "The credentials file"), checked. */
import * as v from '@badrap/valita';
import { checkShape } from '../settings/shape.ts';
import { SCOPES } from './scopes.ts';

const ISO_8601 = /^\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

const line = v
  .string()
  .assert((text) => /^[^\p{Cc}]{1,200}$/u.test(text), 'must be one line of 1 to 200 characters');
const time = v.string().assert(isTime, 'must be an ISO 8601 time');
const sha256 = v
  .string()
  .assert((text) => /^[0-9a-f]{64}$/i.test(text), 'must be 64 hexadecimal digits')
  .map((text) => text.toLowerCase());

// With a rest: whatever else an operator wrote there survives the command's edits.
const credential = v
  .object({
    id: line,
    sha256,
    created_at: time,
    // Required, so that a misspelt name never makes a credential last for ever.
    expires_at: time.nullable(),
  })
  .rest(v.unknown());

const client = v
  .object({
    name: line,
    scopes: v.array(v.union(...SCOPES.map((scope) => v.literal(scope)))),
    credentials: v.array(credential),
  })
  .rest(v.unknown());

const schema = v
  .object({ clients: v.array(client) })
  .rest(v.unknown())
  .assert(({ clients }) => areUnique(clients.map(({ name }) => name)), 'two clients have one name')
  .assert(
    ({ clients }) => clients.every((each) => areUnique(each.credentials.map(({ id }) => id))),
    'two credentials of a client have one id',
  )
  .assert(
    ({ clients }) =>
      areUnique(clients.flatMap((each) => each.credentials.map(({ sha256 }) => sha256))),
    'two credentials have one sha256',
  );

export type ClientsFile = v.Infer<typeof schema>;
export type Client = ClientsFile['clients'][number];

export type ParsedClients = { kind: 'valid'; file: ClientsFile } | { kind: 'invalid'; why: string };

/** Of the text of a credentials file; `why` repeats none of its values. */
export function parseClients(text: string): ParsedClients {
  let json: unknown;
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    // The parser's own message would repeat a piece of the file.
    return { kind: 'invalid', why: 'it is not JSON' };
  }
  const checked = checkShape(schema, json, 'the file');
  return checked.kind === 'valid' ? { kind: 'valid', file: checked.value } : checked;
}

/** Contract §2, "The credentials file". Without a valid time (NaN in `now`) every credential with an end has expired. */
export function isExpired(expiresAt: string | null, now: Date): boolean {
  if (expiresAt === null) return false;
  const isValid = now.getTime() < Date.parse(expiresAt);
  return !isValid;
}

/** A day that its month has not, `Date` would take for one of the next. */
function isTime(text: string): boolean {
  const day = text.slice(0, 10);
  const atNoon = new Date(`${day}T12:00:00Z`);
  const isDay = !Number.isNaN(atNoon.getTime()) && atNoon.toISOString().startsWith(day);
  return ISO_8601.test(text) && isDay && !Number.isNaN(Date.parse(text));
}

function areUnique(values: string[]): boolean {
  return new Set(values).size === values.length;
}
