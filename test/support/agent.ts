import { CONFIRMATION_STATEMENT } from '../../src/actions/preview.ts';
import { freshAddress, type Service, tokens } from './service.ts';

// biome-ignore lint/suspicious/noExplicitAny: each test expects another body.
export type Answer = { status: number; headers: Headers; body: any; text: string };

type Call = {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer | FormData | URLSearchParams;
};

/** Sends a request from a new client address, whose rate limits are unused. */
export async function call(service: Pick<Service, 'url'>, path: string, options: Call = {}): Promise<Answer> {
  const { method = 'POST', headers = {}, body } = options;
  const response = await fetch(`${service.url}${path}`, {
    method,
    redirect: 'manual',
    headers: { 'x-forwarded-for': freshAddress(), ...headers },
    ...(body === undefined ? {} : { body: body as string }),
  });
  const text = await response.text();
  // `application/jsonl` is not one JSON value.
  const isJson = /json\b/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== '' ? JSON.parse(text) : undefined,
  };
}

export const quote = { name: 'Ada Lovelace', email: 'ada@example.com', postal_code: '94110' };

type AgentCall = { token?: string | null; headers?: Record<string, string>; raw?: string };

const bearer = (token: string | null) => (token === null ? {} : { authorization: `Bearer ${token}` });

/** Calls preview. `raw` replaces the body. With the token null, the credential is omitted. */
export function previewAction(
  service: Pick<Service, 'url'>,
  action = 'homeowner_quote',
  fields: unknown = quote,
  options: AgentCall = {},
): Promise<Answer> {
  return call(service, `/api/agent/actions/${action}/preview`, {
    headers: {
      ...bearer(options.token === undefined ? tokens.both : options.token),
      ...options.headers,
    },
    body: options.raw ?? JSON.stringify(fields),
  });
}

/** Calls preview and returns the `preview_id`. */
export async function previewId(service: Pick<Service, 'url'>, action?: string, fields?: unknown): Promise<string> {
  const { body } = await previewAction(service, action, fields);
  return body.preview_id;
}

/** Calls execute with the exact confirmation statement. With the key null, the header is omitted. */
export function executeAction(
  service: Pick<Service, 'url'>,
  preview: unknown,
  options: AgentCall & {
    action?: string;
    key?: string | null;
    body?: Record<string, unknown>;
  } = {},
): Promise<Answer> {
  const { action = 'homeowner_quote', key = `key-${Math.random()}`, token = tokens.both } = options;
  return call(service, `/api/agent/actions/${action}/execute`, {
    headers: {
      ...bearer(token),
      ...(key === null ? {} : { 'idempotency-key': key }),
      ...options.headers,
    },
    body:
      options.raw ??
      JSON.stringify({
        preview_id: preview,
        confirmation: true,
        confirmation_text: CONFIRMATION_STATEMENT,
        ...options.body,
      }),
  });
}
