/** GET of a receipt, and of the keys that it is verified with (beyond §5). */
import type { FastifyInstance } from 'fastify';
import { renderProblem } from '../failures/render.ts';
import { headerLines } from '../http/headers.ts';
import { at, routes } from '../routes.ts';
import { prepareDocument, serve } from '../server/documents.ts';
import type { TakeFromLimit } from '../server/limiting.ts';
import type { ReceiptKeys } from '../settings/receipt-keys.ts';
import { type ReadParts, readReceipt } from './read.ts';

type RouteParts = ReadParts & {
  receiptKeys: Pick<ReceiptKeys, 'published'>;
  takeFromLimit: TakeFromLimit;
};

/** RFC 7517 §8.5.2. */
const JWK_SET_TYPE = 'application/jwk-set+json';

/** Registers both. */
export function registerReceipts(app: FastifyInstance, parts: RouteParts): void {
  app.route<{ Params: { action_id: string } }>({
    ...at(routes.getReceipt),
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store');
      const result = await readReceipt(parts, {
        actionId: request.params.action_id,
        authorization: headerLines(request.raw, 'authorization'),
        takeFromLimit: () => parts.takeFromLimit('reads', request, reply),
      });
      if (result.kind === 'found') return reply.send(result.record);
      // Before its end there is none.
      const refusal = result.kind === 'inProgress' ? ({ kind: 'unknownReceipt' } as const) : result;
      const { status, headers, body } = renderProblem(refusal, 'agent');
      return reply.code(status).headers(headers).send(body);
    },
  });

  const keys = JSON.stringify({ keys: parts.receiptKeys.published });
  serve(
    app,
    at(routes.getReceiptKeys),
    prepareDocument(() => keys, JWK_SET_TYPE, { 'access-control-allow-origin': '*' }),
  );
}
