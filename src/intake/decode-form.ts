/** Decodes JSON, urlencoded and multipart bodies into flat text values (reference §3.2, §4.1). */
import { isUtf8 } from 'node:buffer';
import type { FormRefusal } from '../failures/refusals.ts';
import { bounds } from '../forms/bounds.ts';
import { declaresOtherCharset, decodeUtf8, mediaType, parseJsonObject, type ReadBody } from '../http/request.ts';
import { memoizeLast } from '../platform/lazy.ts';

export type Encoding = 'json' | 'urlencoded' | 'multipart';

export type FormBody = {
  kind: 'form';
  /** The last value of each name. */
  values: Record<string, string>;
  /** All names and texts in their order. A repeated name occurs each time, except in JSON. */
  names: string[];
  texts: string[];
  /** True if a file part was left out. */
  file: boolean;
  /** True if a JSON value was left out because it is no string. */
  notText: boolean;
};

const ENCODINGS: ReadonlyMap<string | undefined, Encoding> = new Map([
  ['application/json', 'json'],
  ['application/x-www-form-urlencoded', 'urlencoded'],
  ['multipart/form-data', 'multipart'],
]);

/** Returns the encoding of a content type, or undefined if it is not one of the three. */
export const encodingOf = memoizeLast((contentType: string | undefined): Encoding | undefined =>
  ENCODINGS.get(mediaType(contentType)?.essence),
);

export type FormRequest = {
  contentType: string | undefined;
  takeFromLimit(): Promise<{ exceeded: boolean; resetSeconds: number }>;
  readBody(maximum: number): Promise<ReadBody>;
  traceparent: string | undefined;
};

/**
 * Decodes the body of a request. Returns the values or the refusal. `nativeMaximum` is the size limit of urlencoded and
 * multipart, in bytes.
 */
export async function decodeForm(request: FormRequest, nativeMaximum: number): Promise<FormBody | FormRefusal> {
  const encoding = encodingOf(request.contentType);
  if (encoding === undefined) return { kind: 'contentType' };
  const body = await request.readBody(encoding === 'json' ? bounds.jsonBodyBytes : nativeMaximum);
  if (body.kind !== 'read') return body;
  if (encoding === 'json') return fromJson(body.bytes);
  if (encoding === 'urlencoded') return fromUrlencoded(body.bytes);
  return await fromMultipart(body.bytes, request.contentType ?? '');
}

function collect(entries: Iterable<readonly [string, string | Blob]>): FormBody {
  // Without a prototype, `__proto__` is an ordinary name.
  const values: Record<string, string> = Object.create(null);
  const form: FormBody = { kind: 'form', values, names: [], texts: [], file: false, notText: false };
  for (const [name, value] of entries) {
    form.names.push(name);
    if (typeof value === 'string') {
      form.texts.push(value);
      form.values[name] = value;
    } else form.file = true;
  }
  return form;
}

/** Uses the parsed object itself, because a copy of 40,000 names takes longer than parsing them. */
function fromJson(bytes: Buffer): FormBody | FormRefusal {
  const json = parseJsonObject(bytes);
  if (json.kind !== 'object') return json;
  // Without a prototype, `constructor` is an ordinary name.
  const values = Object.setPrototypeOf(json.value, null);
  const names = Object.keys(values);
  const texts: string[] = [];
  let notText = false;
  for (const name of names) {
    const value: unknown = values[name];
    if (typeof value === 'string') texts.push(value);
    else {
      delete values[name];
      notText = true;
    }
  }
  return { kind: 'form', values, names, texts, file: false, notText };
}

/** A valid UTF-8 text can only become invalid by decoding if it contains an escaped byte beyond ASCII. */
const ESCAPED_BEYOND_ASCII = /%[89a-f]/i;

function fromUrlencoded(bytes: Buffer): FormBody | FormRefusal {
  const text = decodeUtf8(bytes);
  if (text === undefined) return { kind: 'invalidUtf8' };
  // `&`, `=` and `+` are ASCII, so the whole body is valid UTF-8 if and only if every name and value is.
  if (ESCAPED_BEYOND_ASCII.test(text) && !isUtf8(percentDecode(bytes))) {
    return { kind: 'invalidUtf8' };
  }
  return collect(new URLSearchParams(text));
}

function percentDecode(bytes: Buffer): Buffer {
  const decoded = bytes
    .toString('latin1')
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(decoded, 'latin1');
}

const BEYOND_A_BYTE = /[^\0-\xff]/;

/**
 * The parser of the platform refuses every malformed body at once. The parser replaces invalid UTF-8 silently. So it
 * gets one character for each byte, and this function decodes names and values strictly.
 */
async function fromMultipart(bytes: Buffer, contentType: string): Promise<FormBody | FormRefusal> {
  try {
    const text = bytes.toString('latin1');
    if (hasTooManyParts(text, contentType)) return { kind: 'malformedForm' };
    const oneCharacterEach = Buffer.from(text, 'utf8');
    const parsed = await new Response(oneCharacterEach, {
      headers: { 'content-type': contentType },
    }).formData();
    const entries: [string, string | Blob][] = [];
    for (const [name, value] of parsed) {
      // Only a base64 part, which the platform decodes, gives a character beyond one byte.
      if (BEYOND_A_BYTE.test(name + value)) return { kind: 'malformedForm' };
      const decodedName = decodeUtf8(Buffer.from(name, 'latin1'));
      const decoded = typeof value === 'string' ? decodeUtf8(Buffer.from(value, 'latin1')) : value;
      if (decodedName === undefined || decoded === undefined) return { kind: 'invalidUtf8' };
      entries.push([decodedName, decoded]);
    }
    if (typesOfParts(text, contentType).some(declaresOtherCharset)) return { kind: 'charset' };
    return collect(entries);
  } catch {
    return { kind: 'malformedForm' };
  }
}

/**
 * Counts the parts before the parser runs, because the parser is slow for many parts. Each delimiter except the first
 * ends a part.
 */
function hasTooManyParts(body: string, contentType: string): boolean {
  const delimiter = `\r\n${delimiterOf(contentType)}`;
  let parts = 0;
  for (let at = body.indexOf(delimiter); at >= 0; at = body.indexOf(delimiter, at + 1)) parts += 1;
  return parts > bounds.multipartParts;
}

function delimiterOf(contentType: string): string {
  return `--${mediaType(contentType)?.params.get('boundary') ?? ''}`;
}

/** Returns the content type of each part of a well-formed body, which the platform does not provide. */
function typesOfParts(body: string, contentType: string): string[] {
  return body.split(delimiterOf(contentType)).map((part) => {
    const [head = ''] = part.split('\r\n\r\n', 1);
    return /^content-type:(.*)$/im.exec(head)?.[1] ?? '';
  });
}
