/**
 * Reads the metadata documents by which hosts describe themselves (reference §26.5, Client ID Metadata Documents). The
 * address comes from a caller, so the service reads it only from a listed host, at a public address, within limits.
 */
import type { LookupFunction } from 'node:net';
import * as v from '@badrap/valita';
import { isName } from '../forms/names.ts';
import { parseJsonObject } from '../http/request.ts';
import { readBody } from '../http/response.ts';
import type { Clock } from '../platform/clock.ts';
import { userAgent } from '../project.ts';

/** Largest decoded body, in bytes. */
const MAXIMUM_BYTES = 5_120;
/** Time limit from the request to the last byte. */
const TIMEOUT_MS = 3_000;
/** Longest time for which a document is reused, and the number of documents in memory. */
const DAY_MS = 24 * 60 * 60_000;
const CACHED_DOCUMENTS = 100;
const NAME_LENGTH = 100;

type ClientDocument = {
  /** The name that the host gives itself. Undefined without a name that people can read safely. */
  name: string | undefined;
  redirectUris: readonly string[];
};

/** Returns the document at an address, or undefined if it can't be read or used. The caller has checked the address. */
export type ReadDocument = (address: string) => Promise<ClientDocument | undefined>;

export type DocumentParts = { clock: Clock; lookup: LookupFunction };

const schema = v
  .object({
    client_id: v.string(),
    client_name: v.unknown().optional(),
    redirect_uris: v.array(v.string()),
    token_endpoint_auth_method: v.literal('none'),
  })
  .rest(v.unknown());

/** Returns the function that reads documents, and reads no document twice within its lifetime. */
export function openClientDocuments(parts: DocumentParts): ReadDocument {
  const cached = new Map<string, { document: ClientDocument; until: number }>();
  const reading = new Map<string, Promise<ClientDocument | undefined>>();

  const read = async (address: string): Promise<ClientDocument | undefined> => {
    const found = await readWithin(parts, address).catch(() => undefined);
    if (found === undefined) return undefined;
    const document = documentIn(address, found.body);
    if (document === undefined) return undefined;
    cached.set(address, { document, until: parts.clock.monotonic() + found.reusableMs });
    const [oldest = address] = cached.keys();
    if (cached.size > CACHED_DOCUMENTS) cached.delete(oldest);
    return document;
  };

  return (address) => {
    const known = cached.get(address);
    if (known !== undefined && parts.clock.monotonic() < known.until) return Promise.resolve(known.document);
    cached.delete(address);
    const running = reading.get(address);
    if (running !== undefined) return running;
    const started = read(address).finally(() => reading.delete(address));
    reading.set(address, started);
    return started;
  };
}

/** Reads a document over a connection of its own, which goes to the address that the lookup has checked. */
async function readWithin({ clock, lookup }: DocumentParts, address: string) {
  const { Agent, fetch } = await import('undici');
  const agent = new Agent({ allowH2: false, connect: { lookup, timeout: TIMEOUT_MS } });
  const abort = new AbortController();
  const cancel = clock.after(TIMEOUT_MS, () => abort.abort());
  try {
    const response = await fetch(address, {
      dispatcher: agent,
      redirect: 'manual',
      signal: abort.signal,
      headers: { accept: 'application/json', 'user-agent': userAgent() },
    });
    if (response.status !== 200) return undefined;
    const body = await readBody(response, MAXIMUM_BYTES);
    return body && { body, reusableMs: reusableMs(response.headers.get('cache-control') ?? '') };
  } finally {
    cancel();
    await agent.destroy();
  }
}

/** Returns the time for which a document may be reused (RFC 9111). Without a time, it is reused for a day. */
function reusableMs(cacheControl: string): number {
  if (/\bno-(?:store|cache)\b/i.test(cacheControl)) return 0;
  const seconds = /\bmax-age=(\d{1,9})\b/i.exec(cacheControl)?.[1];
  return seconds === undefined ? DAY_MS : Math.min(DAY_MS, Number(seconds) * 1_000);
}

function documentIn(address: string, body: Buffer): ClientDocument | undefined {
  const json = parseJsonObject(body);
  const checked = json.kind === 'object' ? schema.try(json.value) : undefined;
  if (checked?.ok !== true || checked.value.client_id !== address) return undefined;
  const { client_name: name, redirect_uris: redirectUris } = checked.value;
  const isReadable = typeof name === 'string' && isName(NAME_LENGTH, name);
  return { name: isReadable ? name : undefined, redirectUris };
}
