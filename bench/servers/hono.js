// The preview as in a route of Hono's documentation: middleware, its validator, then a handler.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createMiddleware } from 'hono/factory';
import { validator } from 'hono/validator';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { checkFields, clientOf, seal } from './minimum.ts';

const { headers } = JSON.parse(process.env.SAMPLE);
const app = new Hono();

const limiter = new RateLimiterMemory({ points: 60, duration: 60 });

const limited = createMiddleware(async (c, next) => {
  const client = c.req.header('x-forwarded-for')?.split(',').at(-1)?.trim() ?? '';
  try {
    await limiter.consume(client);
  } catch {
    return c.json({ error: 'Too Many Requests' }, 429);
  }
  await next();
});

const authenticated = createMiddleware(async (c, next) => {
  if (clientOf(c.req.header('authorization')) === undefined) {
    return c.json({ error: 'Unauthorized' }, 401);
  }
  await next();
});

const contact = validator('json', (value, c) => {
  const fields = checkFields(value);
  return fields ?? c.json({ error: 'Bad Request' }, 400);
});

app.post('/api/agent/actions/:action/preview', limited, authenticated, contact, (c) =>
  c.json(seal(c.req.valid('json')), 200, headers),
);

serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: '127.0.0.1' });
