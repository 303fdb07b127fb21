/** Preloaded by a test: SIGTERM comes in the moment in which the port opens. */
import { Server } from 'node:net';

const { emit } = Server.prototype;

Server.prototype.emit = function (event: string | symbol, ...values: unknown[]): boolean {
  if (event === 'listening') process.kill(process.pid, 'SIGTERM');
  return emit.call(this, event, ...values);
};
