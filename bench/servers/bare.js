// The smallest server there is, in JavaScript: a cold start is measured against it.
import { createServer } from 'node:http';

createServer((_request, response) => response.end('ok')).listen(
  Number(process.env.PORT),
  '127.0.0.1',
);
