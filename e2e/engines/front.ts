/** A proxy that terminates HTTPS in front of the service. Cookies of the console need it. */
import { request } from 'node:http';
import { createServer } from 'node:https';
import { cert, key } from '../../test/support/certificate.ts';

export type Front = {
  /** Address of the person whose requests come next. */
  address: string;
  /** False forbids all scripts, as a browser without them does. */
  scripts: boolean;
  close(): void;
};

export async function startFront(port: number, servicePort: number): Promise<Front> {
  const server = createServer({ cert, key }, (incoming, outgoing) => {
    const { method, url: path } = incoming;
    const headers = { ...incoming.headers, 'x-forwarded-for': front.address, 'x-forwarded-proto': 'https' };
    const onwards = request({ host: '127.0.0.1', port: servicePort, method, path, headers }, (answer) => {
      outgoing.statusCode = answer.statusCode ?? 0;
      for (const [name, value] of Object.entries(answer.headers)) outgoing.setHeader(name, value ?? '');
      // The service's policy stays in force beside this one.
      if (!front.scripts) outgoing.appendHeader('content-security-policy', "script-src 'none'");
      answer.pipe(outgoing);
    });
    onwards.on('error', () => outgoing.destroy());
    incoming.pipe(onwards);
  });
  const front: Front = {
    address: '10.0.0.1',
    scripts: true,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
  return front;
}
