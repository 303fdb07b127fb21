/** Problem details and ignored fields in both OpenAPI documents (reference §18.5, §5.3). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DiscoveryServer, startDiscovery } from './discovery-server.ts';

// biome-ignore lint/suspicious/noExplicitAny: a document is walked by name, whatever it holds
type Json = any;

const DOCUMENTS = ['/openapi.json', '/agents/openapi.json'];
const ROUTES = /^\/api\/(agent\/(actions|confirmations|receipts)|leads|subscribe)/;

let server: DiscoveryServer;
beforeAll(async () => {
  server = await startDiscovery();
});
afterAll(() => server.close());

/** Returns each answer of a document, with its path, operation and status. */
function answersIn({ paths }: Json): { path: string; operationId: string; status: string; answer: Json }[] {
  return Object.entries<Json>(paths).flatMap(([path, methods]) =>
    Object.values<Json>(methods).flatMap(({ operationId, responses }) =>
      Object.entries<Json>(responses).map(([status, answer]) => ({ path, operationId, status, answer })),
    ),
  );
}

test.each(DOCUMENTS)(
  '%s has problem details for each failure of agents and forms, and for no other answer',
  async (at) => {
    const document = await server.json(at);
    const answers = answersIn(document);
    expect(answers.length).toBeGreaterThan(80);
    for (const { path, status, answer } of answers) {
      const isFailure = ROUTES.test(path) && /^[45]/.test(status);
      expect(answer.content?.['application/problem+json'], `${path} ${status}`).toEqual(
        isFailure ? { schema: { $ref: '#/components/schemas/ProblemDetails' } } : undefined,
      );
    }
    expect(document.components.schemas.ProblemDetails.required).toContain('code');
  },
);

test.each(DOCUMENTS)('%s describes Ignored-Fields in the answer of each preview only', async (at) => {
  const having = answersIn(await server.json(at)).filter(({ answer }) => 'Ignored-Fields' in (answer.headers ?? {}));
  expect(having.length).toBeGreaterThan(0);
  for (const { operationId, status } of having) {
    expect([operationId, status]).toEqual([expect.stringMatching(/^preview/), '200']);
  }
});
