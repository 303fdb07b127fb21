/** Preloaded module that sends SIGTERM to its process at the moment at which the port opens. */
import { Server } from 'node:net';

const { emit } = Server.prototype;

Server.prototype.emit = function (event: string | symbol, ...values: unknown[]): boolean {
  if (event === 'listening') process.kill(process.pid, 'SIGTERM');
  return emit.call(this, event, ...values);
};
