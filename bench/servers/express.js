// The preview as in a route of Express's documentation: the limiter from its security advice (Production best
// practices: security), the JSON middleware, then a handler.
import express from 'express';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { checkFields, clientOf, seal } from './minimum.ts';

const { headers } = JSON.parse(process.env.SAMPLE);
const app = express();
app.set('trust proxy', 'loopback');

const limiter = new RateLimiterMemory({ points: 60, duration: 60 });

app.use(async (request, response, next) => {
  try {
    await limiter.consume(request.ip);
  } catch {
    return response.status(429).json({ error: 'Too Many Requests' });
  }
  next();
});

app.use(express.json());

app.use((request, response, next) => {
  if (clientOf(request.get('authorization')) === undefined) {
    return response.status(401).json({ error: 'Unauthorized' });
  }
  next();
});

app.post('/api/agent/actions/:action/preview', (request, response) => {
  const fields = checkFields(request.body);
  if (fields === undefined) return response.status(400).json({ error: 'Bad Request' });
  response.set(headers).json(seal(fields));
});

app.listen(Number(process.env.PORT), '127.0.0.1');
