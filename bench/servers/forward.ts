/** Sends an event to the upstream by `http.request`, signed by Standard Webhooks. */
import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:http';
import { UPSTREAM_SECRET } from '../settings.ts';

const agent = new Agent({ keepAlive: true, maxSockets: 128 });
const TIMEOUT_MS = 10_000;

/** Returns the body of a submission's event. */
export function eventOf(id: string, fields: Record<string, string>, client: string | null, at: string): string {
  return JSON.stringify({
    type: 'lead.created',
    timestamp: at,
    data: {
      id,
      form: 'contact',
      fields,
      recipient: null,
      origin: client === null ? 'browser' : 'agent',
      client,
      consent_recorded_at: client === null ? null : at,
    },
  });
}

/** Sends the body. Resolves to the upstream's status. */
export function forward(id: string, body: string): Promise<number> {
  const timestamp = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', UPSTREAM_SECRET).update(`${id}.${timestamp}.${body}`).digest('base64');
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
    'idempotency-key': id,
  };
  return new Promise((resolve, reject) => {
    const call = request(
      process.env.UPSTREAM_URL ?? '',
      { method: 'POST', agent, headers, timeout: TIMEOUT_MS },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    call.on('error', reject);
    call.end(body);
  });
}
