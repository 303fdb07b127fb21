// The preview as in a route of Fastify's documentation: its logger, hooks, and a schema for body and answer.
import Fastify from 'fastify';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { clientOf, seal } from './minimum.ts';

const { headers } = JSON.parse(process.env.SAMPLE);
const text = { type: 'string', minLength: 1, maxLength: 2000 };

const fastify = Fastify({ logger: true, trustProxy: '127.0.0.1' });

const limiter = new RateLimiterMemory({ points: 60, duration: 60 });

fastify.addHook('onRequest', async (request, reply) => {
  try {
    await limiter.consume(request.ip);
  } catch {
    return reply.code(429).send({ error: 'Too Many Requests' });
  }
});

fastify.addHook('onRequest', async (request, reply) => {
  if (clientOf(request.headers.authorization) === undefined) {
    return reply.code(401).send({ error: 'Unauthorized' });
  }
});

fastify.post(
  '/api/agent/actions/:action/preview',
  {
    schema: {
      body: {
        type: 'object',
        required: ['name', 'email', 'subject', 'message'],
        properties: {
          name: text,
          email: { type: 'string', format: 'email', maxLength: 254 },
          phone: text,
          subject: text,
          message: text,
        },
        additionalProperties: false,
      },
      response: {
        200: {
          type: 'object',
          properties: {
            ok: { type: 'boolean' },
            preview_id: { type: 'string' },
            action: { type: 'string' },
            fields: { type: 'object', additionalProperties: { type: 'string' } },
            created_at: { type: 'string' },
            expires_at: { type: 'string' },
            confirmation_required: { type: 'boolean' },
            confirmation_statement: { type: 'string' },
            destination: { type: 'string' },
          },
        },
      },
    },
  },
  async (request, reply) => {
    reply.headers(headers);
    return seal(request.body);
  },
);

await fastify.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
