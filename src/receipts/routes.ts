/** Routes to get a receipt, and the keys that verify receipts (reference §7). */
import type { FastifyInstance } from 'fastify';
import type { Credentials } from '../credentials/file.ts';
import { renderProblem } from '../failures/render.ts';
import { headerLines } from '../http/request.ts';
import { at, routes } from '../routes.ts';
import { prepareDocument, serve } from '../server/documents.ts';
import { sendProblem } from '../server/page-or-json.ts';
import type { TakeFromLimit } from '../server/rate-limits.ts';
import type { ReceiptKeys } from '../settings/receipt-keys.ts';
import { type Receipts, readReceipt } from './receipts.ts';

type RouteParts = {
  credentials: Credentials;
  receipts: Receipts;
  receiptKeys: Pick<ReceiptKeys, 'published'>;
  takeFromLimit: TakeFromLimit;
};

/** Media type of a set of keys (RFC 7517 §8.5.2). */
const JWK_SET_TYPE = 'application/jwk-set+json';

export function registerReceipts(app: FastifyInstance, parts: RouteParts): void {
  app.route<{ Params: { action_id: string } }>({
    ...at(routes.getReceipt),
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store');
      const result = await readReceipt(parts, {
        actionId: request.params.action_id,
        authorization: headerLines(request.raw, 'authorization'),
        takeFromLimit: () => parts.takeFromLimit('reads', request, reply),
        onSandbox: () => reply.header('sandbox', 'true'),
      });
      if (result.kind === 'found') return reply.send(result.record);
      // An execution has no receipt before its end.
      const refusal = result.kind === 'inProgress' ? ({ kind: 'unknownReceipt' } as const) : result;
      return sendProblem(reply, renderProblem(refusal, 'agent'));
    },
  });

  const keys = JSON.stringify({ keys: parts.receiptKeys.published });
  serve(
    app,
    at(routes.getReceiptKeys),
    prepareDocument(() => keys, JWK_SET_TYPE, { 'access-control-allow-origin': '*' }),
  );
}
