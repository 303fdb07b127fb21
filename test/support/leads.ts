import { expect } from 'vitest';
import { type Answer, executeAction, previewId, quote } from './agent.ts';
import type { Service } from './service.ts';
import { until } from './until.ts';

type Asked = Pick<Service, 'url'>;

/** The upstream, or another source of the delivered events. */
type Destination = { delivered: { event: { data: Record<string, unknown> } }[] };

/** A confirmed submission of one person, and every answer that the agent got under its idempotency key. */
export type Lead = { email: string; preview: string; key: string; answers: Answer[] };

let leads = 0;

/** Previews this many leads, each of another person. */
export function previewLeads(service: Asked, count: number): Promise<Lead[]> {
  const preview = async (): Promise<Lead> => {
    leads += 1;
    const email = `person-${leads}@example.com`;
    const id = await previewId(service, 'homeowner_quote', { ...quote, email });
    return { email, preview: id, key: email, answers: [] };
  };
  return Promise.all(Array.from({ length: count }, preview));
}

/** Executes once. Returns undefined if the connection broke before the answer. */
export async function attempt(service: Asked, lead: Lead): Promise<Answer | undefined> {
  const answer = await executeAction(service, lead.preview, { key: lead.key }).catch(() => {});
  if (answer !== undefined) lead.answers.push(answer);
  return answer ?? undefined;
}

/** Executes again and again under the same key until the answer is final. */
export async function attemptUntilFinal(service: Asked, lead: Lead): Promise<void> {
  await until(async () => [200, 502].includes((await attempt(service, lead))?.status ?? 0));
}

/** Returns the number of deliveries of each lead, in their order. */
export function deliveriesOf(destination: Destination, of: readonly Lead[]): number[] {
  return of.map(
    ({ email }) =>
      destination.delivered.filter(({ event }) => {
        const { fields } = event.data as { fields: { email: string } };
        return fields.email === email;
      }).length,
  );
}

/**
 * Checks the answers and deliveries of each lead:
 * - It has one delivery at most, and exactly one if an answer was 200.
 * - All its receipts are equal, byte for byte.
 * - The last answer is final: 200, or 502 with a receipt. Others may also be 503 or a retryable 409.
 */
export function expectPromises(destination: Destination, of: readonly Lead[]): void {
  const deliveries = deliveriesOf(destination, of);
  for (const [index, { email, answers }] of of.entries()) {
    const statuses = answers.map(({ status }) => status);
    const delivered = deliveries[index] ?? 0;
    expect(statuses.at(-1), `${email}: ${statuses}`).toBeOneOf([200, 502]);
    expect(delivered, `${email}: ${statuses}`).toBeOneOf(statuses.includes(200) ? [1] : [0, 1]);
    for (const { status, body } of answers) {
      expect(status, `${email}: ${statuses}`).toBeOneOf([200, 409, 502, 503]);
      if (status === 409) expect(body.retryable).toBe(true);
    }
    const receipts = answers.flatMap(({ body }) => (body?.receipt ? [body.receipt] : []));
    expect(new Set(receipts.map((receipt) => JSON.stringify(receipt))).size, email).toBe(1);
  }
}
