import { type Service, startService } from '../test/support/service.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../test/support/upstream.ts';

export const CONTACT = 'help@paint.example';

/** The service in this process, before an upstream that answers as it is told. */
export type Site = {
  service: Service;
  upstream: ProgrammableUpstream;
  close(): Promise<void>;
};

/** Takes settings besides those of the tests; starts a site that has a contact. */
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

/** Whatever is sent, the upstream confirms none of it: 502. */
export function breakUpstream({ upstream }: Site): void {
  upstream.answer = answering(500);
}

/** The next answer is an error nobody expected: 500. Returns how to mend it. */
export function plantError({ service }: Site): () => void {
  const { upstream } = service.parts;
  if (upstream?.embedded !== false) throw new Error('the site has no upstream');
  const { deliver } = upstream;
  upstream.deliver = () => Promise.reject(new Error('planted by a test'));
  return () => {
    upstream.deliver = deliver;
  };
}

/** Takes an address; sends as many leads from it as are taken: the next one is 429. */
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
