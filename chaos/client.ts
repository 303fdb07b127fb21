/** Sends the requests of clients, through the proxy if there is one. */
import { Agent, request } from 'undici';
import { type Ledger, report } from './ledger.ts';

export type Answer = {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: each reader states what it expects of the body.
  body: any;
  retryAfterSeconds: number;
  instance: string;
  /** Value of the header `Submission-Reference`. */
  reference: string | undefined;
};

export type Client = {
  /** Sends a request. Returns undefined if the connection ended or the client gave up without an answer. */
  post(
    path: string,
    body: Record<string, unknown>,
    options?: { headers?: Record<string, string>; patienceMs?: number; address?: string },
  ): Promise<Answer | undefined>;
  close(): Promise<void>;
};

/** Statuses that each route may answer (reference §18.4). 502 and 504 without JSON come from the proxy. */
const EXPECTED: Record<string, ReadonlySet<number>> = {
  preview: new Set([200, 429, 502, 503, 504]),
  execute: new Set([200, 400, 409, 410, 413, 422, 429, 502, 503, 504]),
  '/api/leads': new Set([200, 429, 502, 503, 504]),
  '/api/subscribe': new Set([200, 429, 502, 503, 504]),
};

const PATIENCE_MS = 40_000;

/** Returns a client. Every request comes from a different client address. */
export function openClient(url: string, ledger: Ledger): Client {
  const dispatcher = new Agent({ connections: 256, headersTimeout: 0, bodyTimeout: 0 });
  let addresses = 0;
  const freshAddress = () => {
    addresses += 1;
    return `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
  };
  return {
    async post(path, body, { headers = {}, patienceMs = PATIENCE_MS, address } = {}) {
      ledger.requests += 1;
      const route = path.startsWith('/api/agent/') ? path.slice(path.lastIndexOf('/') + 1) : path;
      const answer = await ask(path, body, headers, patienceMs, address ?? freshAddress());
      const status = answer?.status ?? 0;
      const counted = `${route} ${status}`;
      ledger.answers.set(counted, (ledger.answers.get(counted) ?? 0) + 1);
      if (answer !== undefined && !EXPECTED[route]?.has(status)) {
        report(
          ledger,
          status === 500 ? 'never a 500' : 'no unexpected status',
          `${counted} ${JSON.stringify(answer.body)} from ${answer.instance}`,
        );
      }
      return answer;
    },
    close: () => dispatcher.destroy(),
  };

  async function ask(
    path: string,
    body: Record<string, unknown>,
    headers: Record<string, string>,
    patienceMs: number,
    address: string,
  ): Promise<Answer | undefined> {
    try {
      const response = await request(`${url}${path}`, {
        method: 'POST',
        dispatcher,
        headers: { 'content-type': 'application/json', 'x-forwarded-for': address, ...headers },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(Math.max(1, Math.round(patienceMs))),
      });
      const text = await response.body.text();
      const isJson = String(response.headers['content-type']).includes('json');
      return {
        status: response.statusCode,
        body: isJson ? JSON.parse(text) : undefined,
        retryAfterSeconds: Number(response.headers['retry-after'] ?? 0),
        instance: String(response.headers['x-instance'] ?? ''),
        reference: response.headers['submission-reference']?.toString(),
      };
    } catch {
      return undefined;
    }
  }
}
