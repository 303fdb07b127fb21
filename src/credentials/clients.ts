/** The shape of the credentials file (contract §2, "The credentials file"), checked. */
import { z } from 'zod';

/** What a client may be allowed to do (spec §5). */
export const SCOPES = ['lead:preview', 'lead:create'] as const;

export type Scope = (typeof SCOPES)[number];

const line = z.string().regex(/^[^\p{Cc}]{1,200}$/u, 'must be one line of 1 to 200 characters');
const time = z.iso.datetime({ offset: true, error: 'must be an ISO 8601 time' });

// Loose: whatever else an operator wrote there survives the command's edits.
const credential = z.looseObject({
  id: line,
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/i, 'must be 64 hexadecimal digits')
    .toLowerCase(),
  created_at: time,
  // Required, so that a misspelt name never makes a credential last for ever.
  expires_at: time.nullable(),
});

const client = z.looseObject({
  name: line,
  scopes: z.array(z.enum(SCOPES)),
  credentials: z.array(credential),
});

const schema = z
  .looseObject({ clients: z.array(client) })
  .refine(({ clients }) => areUnique(clients.map(({ name }) => name)), 'two clients have one name')
  .refine(
    ({ clients }) => clients.every((each) => areUnique(each.credentials.map(({ id }) => id))),
    'two credentials of a client have one id',
  )
  .refine(
    ({ clients }) =>
      areUnique(clients.flatMap((each) => each.credentials.map(({ sha256 }) => sha256))),
    'two credentials have one sha256',
  );

export type ClientsFile = z.infer<typeof schema>;
export type Client = ClientsFile['clients'][number];

export type ParsedClients = { kind: 'valid'; file: ClientsFile } | { kind: 'invalid'; why: string };

/** Takes the text of a credentials file; returns its clients, or why not, without any of its values. */
export function parseClients(text: string): ParsedClients {
  let json: unknown;
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    // The parser's own message would repeat a piece of the file.
    return { kind: 'invalid', why: 'it is not JSON' };
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return { kind: 'valid', file: parsed.data };
  const issue = parsed.error.issues[0];
  const where = issue?.path.join('.') || 'the file';
  return { kind: 'invalid', why: `${where}: ${issue?.message ?? 'is not valid'}` };
}

/** Whether a credential is past its end at that time (contract §2); by a clock that says nothing it is. */
export function isExpired(expiresAt: string | null, now: Date): boolean {
  if (expiresAt === null) return false;
  const isValid = now.getTime() < Date.parse(expiresAt);
  return !isValid;
}

function areUnique(values: string[]): boolean {
  return new Set(values).size === values.length;
}
