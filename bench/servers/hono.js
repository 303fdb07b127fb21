// The preview as Hono's documentation writes a route: its validator, then a handler.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createMiddleware } from 'hono/factory';
import { validator } from 'hono/validator';
import { checkFields, clientOf, seal } from './minimum.ts';

const { headers } = JSON.parse(process.env.SAMPLE);
const app = new Hono();

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

app.post('/api/agent/actions/:action/preview', authenticated, contact, (c) =>
  c.json(seal(c.req.valid('json')), 200, headers),
);

serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: '127.0.0.1' });
