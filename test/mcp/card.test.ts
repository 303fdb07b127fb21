/** The card of a preview and the tool of its buttons, over HTTP (reference §8.12). `e2e/card.e2e.ts` tests the card itself. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { forms } from '../../src/forms/catalog.ts';
import { pressButton } from '../confirmations/rig.ts';
import { executeAction, quote } from '../support/agent.ts';
import { APPS, callTool, confirmed, previewByTool, send, toolNames, WITH_APPS } from '../support/mcp.ts';
import { scenario } from '../support/scenario.ts';
import { freshAddress, startService, tokens } from '../support/service.ts';
import { answering } from '../support/upstream.ts';

const started = scenario();
type Options = Parameters<typeof callTool>[3];
type Result = { isError?: boolean; content: { text: string }[]; _meta: Record<string, string> };

const CARD = 'ui://lead-intake/preview';
const preview = () => previewByTool(started.service);
const press = (preview_id: unknown, decision: unknown = 'send', options: Options = {}) =>
  callTool(started.service, 'submit_from_card', { preview_id, decision }, { ...WITH_APPS, ...options });
const textOf = ({ content }: Result) => content[0]?.text ?? '';
/** Returns the outcome that the card shows, and the text for the model. */
const refusalIn = (result: Result) => [result.isError, result._meta['lead-intake/outcome'], textOf(result)];
const listTools = async (options?: Options): Promise<{ name: string; _meta?: object }[]> =>
  (await send(started.service, 'tools/list', {}, options)).body.result.tools;

describe('resource of the card', () => {
  const read = async (options?: Options) =>
    (await send(started.service, 'resources/read', { uri: CARD }, options)).body.result;

  test('is the only resource of /mcp, needs nothing foreign, and can be cached', async () => {
    const { resources, ttlMs, cacheScope } = (await send(started.service, 'resources/list')).body.result;
    const _meta = { ui: { csp: { connectDomains: [], resourceDomains: [] }, prefersBorder: true } };
    expect(resources).toEqual([expect.objectContaining({ uri: CARD, mimeType: 'text/html;profile=mcp-app', _meta })]);
    expect([ttlMs, cacheScope]).toEqual([300_000, 'private']);
    const { contents, ...rest } = await read();
    expect(contents).toEqual([{ uri: CARD, mimeType: 'text/html;profile=mcp-app', text: expect.any(String), _meta }]);
    expect(rest).toMatchObject({ ttlMs: 300_000, cacheScope: 'private' });
    const templates = (await send(started.service, 'resources/templates/list')).body.result;
    expect(templates.resourceTemplates).toEqual([]);
  });

  test('is one document of at most 12 KiB that names no address and forbids every request', async () => {
    const html: string = (await read()).contents[0].text;
    expect(Buffer.byteLength(html)).toBeLessThanOrEqual(12 * 1_024);
    expect(html).not.toMatch(/https?:|\bsrc=|href=|@import|url\(|\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon/);
    expect(html).toContain(`content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; `);
    expect(html).not.toMatch(/localStorage|sessionStorage|cookie|innerHTML/);
  });

  test('is card.html without the comments of its script, and with language and words', async () => {
    const html: string = (await read()).contents[0].text;
    const source = readFileSync(new URL('../../src/mcp/card.html', import.meta.url), 'utf8').split('\n');
    const lines = source.filter((line) => !/^\/(?:\/|\*\*)/.test(line));
    expect(lines.length).toBeLessThan(source.length);
    const changed = html.split('\n').filter((line, n) => line !== lines[n]);
    expect(changed.map((line) => line.slice(0, 25))).toEqual(['<script id="words" type="']);
    expect(html).toContain('<html lang="en" dir="ltr">');
  });

  test('has the labels of every form', async () => {
    const html: string = (await read()).contents[0].text;
    const { labels } = JSON.parse(/<script id="words" type="application\/json">(.*)<\/script>/.exec(html)?.[1] ?? '');
    for (const { name, fields } of Object.values(forms)) {
      expect(labels[name]).toEqual(fields.map((field) => [field.name, field.label]));
    }
  });

  test('has the words and the language of CONTENT_DIR', async () => {
    const service = await startService({ environment: { CONTENT_DIR: 'examples/content-de' } });
    const { body } = await send(service, 'resources/read', { uri: CARD });
    const { text } = body.result.contents[0];
    expect(text).toContain('<html lang="de" dir="ltr">');
    expect(text).toContain('Nicht senden');
    await service.close();
  });

  test('keeps the words of the operator inside their element, whatever they are', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'words-'));
    const label = '</script><!--<script>Send';
    writeFileSync(join(folder, 'words.yaml'), `card: { send: "${label}" }\n`);
    const service = await startService({ environment: { CONTENT_DIR: folder } });
    const { text } = (await send(service, 'resources/read', { uri: CARD })).body.result.contents[0];
    const [, words = ''] = /<script id="words" type="application\/json">(.*?)<\/script>/s.exec(text) ?? [];
    expect(JSON.parse(words).send).toBe(label);
    expect(words).not.toContain('<');
    await service.close();
    rmSync(folder, { recursive: true });
  });

  test.each(['ui://lead-intake/other', 'file:///etc/passwd', ''])('returns −32602 for the address %j', async (uri) => {
    const { body } = await send(started.service, 'resources/read', { uri });
    expect(body.error.code).toBe(-32_602);
  });

  test('needs a credential, and is not on /mcp/open', async () => {
    expect((await send(started.service, 'resources/read', { uri: CARD }, { token: null })).status).toBe(401);
    const open = { path: '/mcp/open', token: null };
    for (const method of ['resources/list', 'resources/read', 'resources/templates/list']) {
      const { status, body } = await send(started.service, method, { uri: CARD }, open);
      expect([method, status, body.error.code]).toEqual([method, 404, -32_601]);
    }
    const { capabilities } = (await send(started.service, 'server/discover', {}, open)).body.result;
    expect(capabilities).toEqual({ tools: {} });
  });
});

describe('tools for the card', () => {
  test('every preview tool names the card, and no other tool does', async () => {
    for (const { name, _meta } of await listTools()) {
      expect([name, _meta]).toEqual([name, name.startsWith('preview_') ? { ui: { resourceUri: CARD } } : undefined]);
    }
  });

  test.each<[boolean, object]>([
    [true, { extensions: { [APPS]: {} } }],
    [true, { extensions: { [APPS]: { mimeTypes: ['text/html', 'text/html;profile=mcp-app'] } } }],
    [false, { extensions: { [APPS]: { mimeTypes: ['text/html'] } } }],
    [false, { extensions: { [APPS]: { mimeTypes: 'text/html;profile=mcp-app' } } }],
    [false, { extensions: { 'com.example/ui': {} } }],
    [false, { elicitation: {} }],
    [false, {}],
  ])('submit_from_card is listed (%j) to a client with the capabilities %j', async (isListed, capabilities) => {
    const tools = await listTools({ capabilities });
    expect(tools).toHaveLength(toolNames.length + Number(isListed));
    const tool = tools.find(({ name }) => name === 'submit_from_card');
    expect(tool?._meta).toEqual(isListed ? { ui: { visibility: ['app'] } } : undefined);
  });

  test('a client without Apps gets the same preview as a client with Apps, without the minimum', async () => {
    const call = (options?: Options) => callTool(started.service, 'preview_contact', message, options);
    const message = { name: 'Ada', email: 'ada@example.com', subject: 'Hello', message: 'one\ntwo' };
    const [with_, without] = [await call(WITH_APPS), await call()];
    expect(with_._meta).toMatchObject({ 'lead-intake/minimum': 'agent' });
    expect(without._meta).not.toHaveProperty('lead-intake/minimum');
    const { fields, destination } = with_.structuredContent;
    expect(without.structuredContent).toMatchObject({ fields, destination });
    expect(textOf(without).split('\n')[0]).toBe(textOf(with_).split('\n')[0]);
  });
});

describe('submit_from_card', () => {
  test('sends once, records client_form as confirmed_via, and replays the receipt on a second press', async () => {
    const previewed = await preview();
    await started.expecting({ forwarded: 1, rows: 1 }, async () => {
      const sent = await press(previewed);
      expect(sent.structuredContent).toMatchObject({ ok: true, receipt: { status: 'submitted' } });
      expect(sent._meta['lead-intake/reference']).toMatch(/^[\dA-Z]{4}-[\dA-Z]{4}$/);
      const again = await press(previewed);
      expect(again.structuredContent).toEqual({ ...sent.structuredContent, replay: true });
      const input = { action_id: sent.structuredContent.receipt.action_id };
      const shown = await callTool(started.service, 'get_receipt', input);
      expect(shown.structuredContent.confirmed_via).toBe('client_form');
    });
  });

  test('sends once for twenty simultaneous presses and a call of submit', async () => {
    const previewed = await preview();
    const headers = { 'x-forwarded-for': freshAddress() };
    await started.expecting({ forwarded: 1, rows: 1 }, async () => {
      const presses = Array.from({ length: 19 }, () => press(previewed, 'send', { headers }));
      const all: Result[] = await Promise.all([
        ...presses,
        callTool(started.service, 'submit', confirmed(previewed), { headers }),
      ]);
      expect(all.filter(({ isError }) => !isError).length).toBeGreaterThan(0);
      for (const each of all.filter(({ isError }) => isError)) expect(textOf(each)).toContain('in progress');
    });
  });

  test('declines, which refuses the preview for every client afterwards', async () => {
    const previewed = await preview();
    await started.expecting({ rows: 1 }, async () => {
      for (const again of [
        await press(previewed, 'decline'),
        await press(previewed),
        await press(previewed, 'decline'),
      ])
        expect(refusalIn(again)).toEqual([true, 'declined', expect.stringContaining('(confirmation_declined)')]);
      const { status, body } = await executeAction(started.service, previewed, { token: tokens.other });
      expect([status, body]).toEqual([409, { error: 'confirmation_declined' }]);
    });
  });

  test('declining after it was sent returns the receipt', async () => {
    const previewed = await preview();
    const { structuredContent } = await press(previewed);
    expect((await press(previewed, 'decline')).structuredContent.receipt).toEqual(structuredContent.receipt);
  });

  test.each<[string, object]>([
    ['no capability', {}],
    ['forms only', { elicitation: { form: {} } }],
    ['Apps for other documents', { extensions: { [APPS]: { mimeTypes: ['text/plain'] } } }],
  ])('refuses a client that declares %s, and consumes nothing', async (_name, capabilities) => {
    const previewed = await preview();
    await started.expecting({}, async () => {
      for (const decision of ['send', 'decline']) {
        const refused = await press(previewed, decision, { capabilities });
        expect([refused.isError, textOf(refused)]).toEqual([
          true,
          expect.stringContaining('does not declare MCP Apps'),
        ]);
      }
    });
    expect((await press(previewed)).structuredContent.ok).toBe(true);
  });

  test.each([[undefined], [null], ['yes'], [true], ['Send'], [{}]])(
    'refuses %j as a decision, and consumes nothing',
    async (decision) => {
      const previewed = await preview();
      await started.expecting({}, async () => {
        const result = await press(previewed, decision ?? null);
        expect([result.isError, textOf(result)]).toEqual([true, expect.stringContaining('decision must be')]);
      });
      expect((await press(previewed)).structuredContent.ok).toBe(true);
    },
  );

  test.each<[string, string, string, () => Promise<unknown>]>([
    ['no text', 'retry', 'preview_id must be the string', async () => true],
    ['no preview', 'expired', 'not valid', async () => 'x'],
    ['a forged preview', 'expired', 'not valid', async () => `${(await preview()).slice(0, -1)}_`],
    [
      'a preview that was changed',
      'expired',
      'not valid',
      async () => {
        const [payload = '', signature] = (await preview()).split('.');
        const text = Buffer.from(payload, 'base64url').toString().replace('Ada', 'Eve');
        return `${Buffer.from(text).toString('base64url')}.${signature}`;
      },
    ],
    [
      'an expired preview',
      'expired',
      'has expired',
      async () => {
        const previewed = await preview();
        started.clock.advance(600_000);
        return previewed;
      },
    ],
    [
      'a preview that another client sent',
      'used',
      '(preview_already_used)',
      async () => {
        const previewed = await preview();
        await executeAction(started.service, previewed, { token: tokens.other });
        return previewed;
      },
    ],
  ])('refuses %s with the outcome %s', async (_name, outcome, said, of) => {
    const previewed = await of();
    await started.expecting({}, async () => {
      for (const decision of ['send', 'decline'])
        expect(refusalIn(await press(previewed, decision))).toEqual([true, outcome, expect.stringContaining(said)]);
    });
  });

  test('tells the person that they reported the client', async () => {
    const fields = { ...quote, email: 'reporter@example.com' };
    const previewed = async () =>
      (await callTool(started.service, 'preview_homeowner_quote', fields)).structuredContent.preview_id;
    const input = { preview_id: await previewed() };
    const { confirmation } = (await callTool(started.service, 'request_confirmation', input)).structuredContent;
    await pressButton(started.service, new URL(confirmation.confirmation_url).pathname, 'report');
    const [isError, outcome] = refusalIn(await press(await previewed()));
    expect([isError, outcome]).toEqual([true, 'reported']);
  });

  test.each([
    [422, 'rejected'],
    [429, 'rejected'],
    [500, 'failed'],
  ])('has an outcome for the person if the destination answers %i: %s', async (status, outcome) => {
    started.upstream.answer = answering(status);
    const result = await press(await preview());
    expect(refusalIn(result)).toEqual([true, outcome, expect.stringContaining('action_id: ')]);
  });

  test('checks the rate limit, scope and configuration before the extension and the arguments', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    for (let n = 0; n < 20; n += 1) await press('x', 'send', { headers });
    const limited = await press('x', 'send', { headers, token: tokens.preview, capabilities: {} });
    expect(textOf(limited)).toContain('Too many');
    expect(textOf(await press('x', 'send', { token: tokens.preview, capabilities: {} }))).toContain('lacks the scope');
    const bare = await startService({ environment: { PREVIEW_SIGNING_KEYS: '' } });
    const result = await callTool(bare, 'submit_from_card', {}, { capabilities: {} });
    expect(textOf(result)).toContain('not configured');
    await bare.close();
  });
});

describe('“Open the page” of the card', () => {
  const askForPage = (preview_id: string) =>
    callTool(started.service, 'request_confirmation', { preview_id }, WITH_APPS);

  test('gives the same page again, and its answer is what the other buttons find afterwards', async () => {
    const previewed = await preview();
    const { confirmation } = (await askForPage(previewed)).structuredContent;
    expect((await askForPage(previewed)).structuredContent.confirmation).toEqual(confirmation);
    for (const decision of ['send', 'decline'])
      expect(refusalIn(await press(previewed, decision))).toEqual([true, 'pending', expect.any(String)]);

    await started.expecting({ forwarded: 1 }, async () => {
      await pressButton(started.service, new URL(confirmation.confirmation_url).pathname, 'send');
      expect((await press(previewed)).structuredContent).toMatchObject({ replay: true });
      expect((await askForPage(previewed)).structuredContent.confirmation.status).toBe('submitted');
    });
  });

  test('has an outcome for a preview that was sent or declined', async () => {
    for (const [decision, outcome] of [
      ['send', 'used'],
      ['decline', 'declined'],
    ]) {
      const previewed = await preview();
      await press(previewed, decision);
      expect(refusalIn(await askForPage(previewed))).toEqual([true, outcome, expect.any(String)]);
    }
  });
});

describe('card with CONFIRMATION_MINIMUM', () => {
  const strict = scenario({ CONFIRMATION_MINIMUM: 'homeowner_quote=page' });

  test.each([
    ['preview_homeowner_quote', quote, 'page'],
    ['preview_newsletter', { email: 'ada@example.com', privacy: 'on' }, 'agent'],
  ])('the result of %s says the minimum', async (name, fields, minimum) => {
    const { _meta } = await callTool(strict.service, name, fields, WITH_APPS);
    expect(_meta['lead-intake/minimum']).toBe(minimum);
  });

  test('submit_from_card refuses below the minimum, and consumes nothing', async () => {
    const previewed = await previewByTool(strict.service);
    await strict.expecting({}, async () => {
      for (const decision of ['send', 'decline']) {
        const input = { preview_id: previewed, decision };
        expect(refusalIn(await callTool(strict.service, 'submit_from_card', input, WITH_APPS))).toEqual([
          true,
          'page',
          expect.stringContaining('(human_confirmation_required)'),
        ]);
      }
    });
    const asked = await callTool(strict.service, 'request_confirmation', { preview_id: previewed }, WITH_APPS);
    expect(asked.structuredContent.confirmation.via).toBe('page');
  });
});
