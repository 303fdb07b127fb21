/** Discovery routes and pages on a real port, with stubs for the agent routes that they link. */
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { registerDiscovery } from '../../src/discovery/routes.ts';
import { once } from '../../src/platform/lazy.ts';
import { at, routes } from '../../src/routes.ts';
import { pageNames } from '../../src/site/content-overrides.ts';
import { defaultFrame } from '../../src/site/layout.ts';
import { loadPages } from '../../src/site/pages.ts';
import { registerSite } from '../../src/site/routes.ts';

export type DiscoveryServer = {
  url: string;
  app: FastifyInstance;
  get(path: string, headers?: Record<string, string>, method?: string): Promise<Response>;
  // biome-ignore lint/suspicious/noExplicitAny: documents are walked by name, whatever they hold
  json(path: string): Promise<any>;
  close(): Promise<void>;
};

/** Links use this base address, which differs from the listening address. */
export const facts = {
  baseUrl: 'https://leads.a-rather-long-example-host-name.test',
  operatorName: 'Acme [Leads]',
  contractorName: 'Brush & Co',
  receiptRetentionDays: 123,
  submissionRetentionDays: 30,
  mcp: 'on' as const,
  oauth: 'on' as const,
};

export async function startDiscovery(): Promise<DiscoveryServer> {
  const app = fastify();
  const { previewAction, executeAction, getReceipt, getReceiptKeys, mcp, handOff, connect } = routes;
  for (const route of [previewAction, executeAction, getReceipt, getReceiptKeys, mcp, handOff, connect]) {
    app.route({ ...at(route), handler: async () => ({ ok: true }) });
  }
  const settings = {
    mode: 'production' as const,
    mcp: 'on' as const,
    oauth: 'on' as const,
    upstream: { kind: 'inbox' as const },
    mail: { kind: 'none' as const },
    previewSigningKeys: [Buffer.alloc(32)],
    baseUrl: facts.baseUrl,
    operator: { name: facts.operatorName, contact: undefined },
    contractor: { id: 'brush', name: facts.contractorName },
    receiptRetentionDays: facts.receiptRetentionDays,
    submissionRetentionDays: facts.submissionRetentionDays,
  };
  const pages = once(async () => loadPages(settings));
  registerDiscovery(app, { ...facts, pages, settings, frame: defaultFrame });
  registerSite(app, { pageNames: pageNames(), pages, assets: [] });
  await app.listen({ host: '127.0.0.1', port: 0 });

  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(url + path, { headers, method });
  return {
    url,
    app,
    get,
    json: async (path) => (await get(path)).json(),
    close: () => app.close(),
  };
}
