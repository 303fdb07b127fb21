// The preview as Express's documentation writes a route: the JSON middleware, then a handler.
import express from 'express';
import { checkFields, clientOf, seal } from './minimum.ts';

const { headers } = JSON.parse(process.env.SAMPLE);
const app = express();

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
