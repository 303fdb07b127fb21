/** Preloaded module in which a server never reports that it has closed. */
import { Server } from 'node:net';

Server.prototype.close = function () {
  return this;
};
