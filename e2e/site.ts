import { type Service, startService } from '../test/support/service.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../test/support/upstream.ts';

export const CONTACT = 'help@paint.example';

/** A service in this process and its upstream, whose answers the test sets. */
export type Site = {
  service: Service;
  upstream: ProgrammableUpstream;
  close(): Promise<void>;
};

/** Starts a site that has a contact, with these settings added to those of the tests. */
export async function startSite(environment: Record<string, string> = {}): Promise<Site> {
  const upstream = await startUpstream();
  const service = await startService({
    environment: { UPSTREAM_URL: upstream.url, OPERATOR_CONTACT: CONTACT, ...environment },
  });
  return {
    service,
    upstream,
    close: async () => {
      await service.close();
      await upstream.close();
    },
  };
}

/** Makes the upstream confirm nothing. The service answers 502. */
export function breakUpstream({ upstream }: Site): void {
  upstream.answer = answering(500);
}

/** Makes the next answer an unexpected error (500). Returns a function that undoes it. */
export function plantError({ service }: Site): () => void {
  const { upstream } = service.parts;
  if (upstream?.embedded !== false) throw new Error('the site has no upstream');
  const { deliver } = upstream;
  upstream.deliver = () => Promise.reject(new Error('planted by a test'));
  return () => {
    upstream.deliver = deliver;
  };
}

/** Sends as many leads from an address as the limit allows. The next one is 429. */
export async function exhaust({ service }: Site, address: string): Promise<void> {
  for (const path of ['/api/leads', '/api/subscribe']) {
    for (let count = 0; count < 5; count += 1) {
      await fetch(`${service.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
        body: JSON.stringify({ email: `often-${count}@example.com`, privacy: 'on' }),
      });
    }
  }
}
