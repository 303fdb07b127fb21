/** JSON, urlencoded and multipart into flat text values (spec §4.6, §4.7; contract §4). */
import { isUtf8 } from 'node:buffer';
import type { FormRefusal } from '../failures/refusals.ts';
import { bounds } from '../forms/bounds.ts';
import {
  declaresOtherCharset,
  decodeUtf8,
  mediaType,
  parseJsonObject,
  type ReadBody,
} from '../http/read-body.ts';
import { keepingLast } from '../once.ts';

export type Encoding = 'json' | 'urlencoded' | 'multipart';

/** What a form body holds, in its order; the last of a repeated name is valid, and each counts, but in JSON. */
export type FormBody = {
  kind: 'form';
  values: Record<string, string>;
  names: string[];
  texts: string[];
  /** Whether something was left out: a file part, or a JSON value that is no string. */
  file: boolean;
  notText: boolean;
};

const ENCODINGS: ReadonlyMap<string | undefined, Encoding> = new Map([
  ['application/json', 'json'],
  ['application/x-www-form-urlencoded', 'urlencoded'],
  ['multipart/form-data', 'multipart'],
]);

/** How a body is encoded, by its content type; undefined where it is none of the three. */
export const encodingOf = keepingLast((contentType: string | undefined): Encoding | undefined =>
  ENCODINGS.get(mediaType(contentType)?.essence),
);

export type FormRequest = {
  contentType: string | undefined;
  takeFromLimit(): Promise<{ exceeded: boolean; resetSeconds: number }>;
  readBody(maximum: number): Promise<ReadBody>;
  traceparent: string | undefined;
};

/** Takes a request and the bound of a native body in bytes; returns its values or the refusal. */
export async function decodeForm(
  request: FormRequest,
  nativeMaximum: number,
): Promise<FormBody | FormRefusal> {
  const encoding = encodingOf(request.contentType);
  if (encoding === undefined) return { kind: 'contentType' };
  const body = await request.readBody(encoding === 'json' ? bounds.jsonBodyBytes : nativeMaximum);
  if (body.kind !== 'read') return body;
  if (encoding === 'json') return fromJson(body.bytes);
  if (encoding === 'urlencoded') return fromUrlencoded(body.bytes);
  return await fromMultipart(body.bytes, request.contentType ?? '');
}

function collect(entries: Iterable<readonly [string, string | Blob]>): FormBody {
  // Without a prototype `__proto__` is just a name.
  const values: Record<string, string> = Object.create(null);
  const form: FormBody = {
    kind: 'form',
    values,
    names: [],
    texts: [],
    file: false,
    notText: false,
  };
  for (const [name, value] of entries) {
    form.names.push(name);
    if (typeof value === 'string') {
      form.texts.push(value);
      form.values[name] = value;
    } else form.file = true;
  }
  return form;
}

/** The parsed object itself, without what is no text: copying 40,000 names costs more than parsing them. */
function fromJson(bytes: Buffer): FormBody | FormRefusal {
  const json = parseJsonObject(bytes);
  if (json.kind !== 'object') return json;
  // Without a prototype `constructor` is just a name.
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

/** Only with the escape of a byte beyond ASCII can what is UTF-8 as it stands be none once it is decoded. */
const ESCAPED_BEYOND_ASCII = /%[89a-f]/i;

function fromUrlencoded(bytes: Buffer): FormBody | FormRefusal {
  const text = decodeUtf8(bytes);
  if (text === undefined) return { kind: 'invalidUtf8' };
  // `&`, `=` and `+` are ASCII, so the whole is UTF-8 just when every name and value is.
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
 * The platform's own parser refuses every malformed shape at once. It replaces invalid UTF-8 without
 * a word, so each byte is given to it as one character, and names and values are decoded here.
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
      // The platform has decoded a part in base64 by itself.
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

/** Looked at before the parser, to which each part is dear; each delimiter but the first ends one. */
function hasTooManyParts(body: string, contentType: string): boolean {
  const delimiter = `\r\n${delimiterOf(contentType)}`;
  let parts = 0;
  for (let at = body.indexOf(delimiter); at >= 0; at = body.indexOf(delimiter, at + 1)) parts += 1;
  return parts > bounds.multipartParts;
}

function delimiterOf(contentType: string): string {
  return `--${mediaType(contentType)?.params.get('boundary') ?? ''}`;
}

/** What each part of a well-formed body says it is, which the platform keeps to itself. */
function typesOfParts(body: string, contentType: string): string[] {
  return body.split(delimiterOf(contentType)).map((part) => {
    const [head = ''] = part.split('\r\n\r\n', 1);
    return /^content-type:(.*)$/im.exec(head)?.[1] ?? '';
  });
}
