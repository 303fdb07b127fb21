/** A page of another origin that hosts the card of a preview in a sandboxed frame (`card-page.js`). */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import type { Browser, Frame, Page } from 'playwright-core';
import { rolldown } from 'rolldown';
import { quote } from '../test/support/agent.ts';
import { type Service, tokens } from '../test/support/service.ts';

export type Host = {
  origin: string /** Paths that were requested of the host. */;
  requested: string[];
  close(): Promise<void>;
};

const STYLE = `body { margin: 0; padding: 12px; color-scheme: light dark; }
iframe { display: block; inline-size: 100%; border: 1px solid #888; border-radius: 12px; box-sizing: border-box; }`;

/** Serves the host's page with its script, in one document. */
export async function startHost(): Promise<Host> {
  const bundle = await rolldown({ input: resolve(import.meta.dirname, 'card-page.js'), platform: 'browser' });
  const { output } = await bundle.generate({ format: 'iife' });
  const script = output[0].code.replaceAll('</script', '<\\/script');
  const html = `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Host</title><style>${STYLE}</style><link rel="icon" href="data:,"><script>${script}</script><body></body>`;
  const requested: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    requested.push(url);
    response.setHeader('content-type', 'text/html; charset=utf-8').end(html);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requested,
    close: () => new Promise((done) => server.close(() => done())),
  };
}

type Options = {
  width?: number;
  scheme?: 'light' | 'dark';
  theme?: 'light' | 'dark';
  revision?: '2026-07-28' | '2025-11-25';
  tool?: string;
  fields?: object;
  /** False if the host does not declare MCP Apps, or opens no links. */
  declares?: boolean;
  links?: boolean;
};

export type Card = {
  page: Page;
  card: Frame;
  /** Requests of all frames after the card was shown, and complaints of the browser. */
  requests: string[];
  complaints: string[];
  /** Result of the preview tool. */
  result: { structuredContent: Record<string, unknown>; _meta: Record<string, string> };
  seen<T>(name: string): Promise<T>;
  close(): Promise<void>;
};

/** Opens the host's page, which previews with a tool and shows the card. */
export async function openCard(
  browser: Browser,
  host: Host,
  service: Service,
  { width = 360, scheme = 'light', tool = 'preview_homeowner_quote', fields = quote, ...options }: Options = {},
): Promise<Card> {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    // A client of 2025 tries GET first, which answers 405.
    if (['error', 'warning'].includes(message.type()) && !message.text().includes('405'))
      complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(host.origin);
  const given = {
    address: `${service.url}/mcp`,
    token: tokens.both,
    revision: '2026-07-28',
    theme: undefined,
    ...options,
    tool,
    fields,
  };
  const result = (await page.evaluate(`showCard(${JSON.stringify(given)})`)) as Card['result'];
  const requests: string[] = [];
  page.on('request', (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`));
  const card = page.frames().find((frame) => frame.parentFrame() !== null);
  if (card === undefined) throw new Error('the host shows no card');
  return {
    page,
    card,
    requests,
    complaints,
    result,
    seen: async <T>(name: string) => (await page.evaluate(`seen.${name}`)) as T,
    close: () => context.close(),
  };
}
