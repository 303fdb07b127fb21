// The smallest possible server in JavaScript, as the baseline of a cold start.
import { createServer } from 'node:http';

createServer((_request, response) => response.end('ok')).listen(Number(process.env.PORT), '127.0.0.1');
