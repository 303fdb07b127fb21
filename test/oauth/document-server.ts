/** A host over https that serves its metadata document, with the certificate of `localhost`. */
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, LookupFunction } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { cert, key } from '../support/certificate.ts';
import { atEndOfFile } from '../support/leftovers.ts';

export type DocumentServer = {
  /** Address of the document. */
  address: string;
  port: number;
  /** Answers the next requests. */
  answer: RequestListener;
  /** Paths of the requests. */
  requested: string[];
  close(): void;
};

/** A lookup that finds every name on this machine, unlike the service's own lookup. */
export const lookupHere: LookupFunction = (_name, options, found) => {
  if (options.all) found(null, [{ address: '127.0.0.1', family: 4 }]);
  else found(null, '127.0.0.1', 4);
};

/** Makes this process trust the certificate until the end of the test file, as `NODE_EXTRA_CA_CERTS` does. */
export function trustCertificate(): void {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, cert]);
  atEndOfFile(() => setDefaultCACertificates(before));
}

/** Returns the document of a host with this address. */
export function documentOf(address: string, changes: Record<string, unknown> = {}): string {
  return JSON.stringify({
    client_id: address,
    client_name: 'Chat Host',
    redirect_uris: ['http://127.0.0.1/callback', `https://localhost/callback`],
    token_endpoint_auth_method: 'none',
    ...changes,
  });
}

/** Starts the server. By default it answers with its document. */
export async function startDocumentServer(): Promise<DocumentServer> {
  const server = createServer({ key, cert }, (request, response) => {
    started.requested.push(request.url ?? '');
    started.answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const address = `https://localhost:${port}/client.json`;
  const started: DocumentServer = {
    address,
    port,
    answer: (request, response) => {
      response.setHeader('content-type', 'application/json').end(documentOf(`https://localhost:${port}${request.url}`));
    },
    requested: [],
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return started;
}
