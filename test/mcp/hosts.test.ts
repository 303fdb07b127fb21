/** Hosts built with the client libraries of others, for each generation of the protocol. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, test } from 'vitest';
import { CONFIRMATION_STATEMENT } from '../../src/actions/preview.ts';
import { quote } from '../support/agent.ts';
import { confirmed, toolNames } from '../support/mcp.ts';
import { scenario } from '../support/scenario.ts';
import { freshAddress, tokens } from '../support/service.ts';

const started = scenario();

const requestInit = () => ({
  headers: { authorization: `Bearer ${tokens.both}`, 'x-forwarded-for': freshAddress() },
});
const address = () => new URL(`${started.service.url}/mcp`);

type Elicited = { message: string };
type Form = (params: Elicited) => {
  action: 'accept' | 'decline' | 'cancel';
  content?: Record<string, string>;
};

/** Connects a host of revision 2026-07-28 with these answers to forms. Without answers, it supports no forms. */
async function newHost(form?: Form): Promise<Client> {
  const client = new Client(
    { name: 'host', version: '1.0.0' },
    {
      versionNegotiation: { mode: 'auto' },
      capabilities: form === undefined ? {} : { elicitation: { form: {} } },
    },
  );
  if (form !== undefined) {
    client.setRequestHandler('elicitation/create', ({ params }) => form(params as Elicited));
  }
  await client.connect(new StreamableHTTPClientTransport(address(), { requestInit: requestInit() }));
  return client;
}

type Result = { content: unknown; structuredContent?: unknown; isError?: boolean | undefined };

const textOf = ({ content }: Result) => (content as { text: string }[])[0]?.text ?? '';

/** Calls preview and submit as the host's model does. */
async function previewAndSubmit(client: Client, input: (previewId: string) => Record<string, unknown>) {
  const preview = await client.callTool({ name: 'preview_homeowner_quote', arguments: quote });
  const { preview_id } = preview.structuredContent as { preview_id: string };
  return await client.callTool({ name: 'submit', arguments: input(preview_id) });
}

describe('@modelcontextprotocol/client, 2026-07-28', () => {
  const withoutWords = (preview_id: string) => ({ preview_id });
  const accept: Form = () => {
    return { action: 'accept', content: { confirmation_text: CONFIRMATION_STATEMENT } };
  };

  test('negotiates the revision and lists the tools', async () => {
    const client = await newHost();
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    expect((await client.listTools()).tools).toHaveLength(toolNames.length);
    await client.close();
  });

  test('delivers once after the user accepts a form that shows destination, fields and statement', async () => {
    const seen: string[] = [];
    const client = await newHost((params) => {
      seen.push(params.message);
      return accept(params);
    });
    await started.expecting({ forwarded: 1, rows: 1 }, async () => {
      const result = await previewAndSubmit(client, withoutWords);
      expect(result.structuredContent).toMatchObject({ receipt: { status: 'submitted' } });
    });
    expect(seen).toEqual([expect.stringContaining('Vetted Painters')]);
    for (const each of [...Object.values(quote), CONFIRMATION_STATEMENT]) {
      expect(seen[0]).toContain(each);
    }
    await client.close();
  });

  test.each<[string, Form, number]>([
    ['decline', () => ({ action: 'decline' }), 1],
    ['“Do not send”', () => ({ action: 'accept', content: { confirmation_text: 'Do not send' } }), 1],
    ['cancel', () => ({ action: 'cancel' }), 0],
  ])(
    'delivers nothing if the user answers the form with %s, although the model sends the statement',
    async (_name, form, rows) => {
      const client = await newHost(form);
      await started.expecting({ rows }, async () => {
        const result = await previewAndSubmit(client, confirmed);
        expect([result.isError, textOf(result)]).toEqual([true, expect.stringContaining('othing was sent')]);
      });
      await client.close();
    },
  );

  test('delivers once after the model sends the statement if the host supports no forms', async () => {
    const client = await newHost();
    await started.expecting({ forwarded: 1, rows: 1 }, async () => {
      expect((await previewAndSubmit(client, withoutWords)).isError).toBe(true);
      expect((await previewAndSubmit(client, confirmed)).isError).toBeUndefined();
    });
    await client.close();
  });

  test('shows no form to a client of revision 2025-11-25, and delivers once after the model sends the statement', async () => {
    const client = new Client({ name: 'host', version: '1.0.0' }, { capabilities: { elicitation: {} } });
    client.setRequestHandler('elicitation/create', () => expect.fail('nobody is asked'));
    await client.connect(new StreamableHTTPClientTransport(address(), { requestInit: requestInit() }));
    expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25');
    await started.expecting({ forwarded: 1, rows: 1 }, async () => {
      const refused = await previewAndSubmit(client, withoutWords);
      expect(textOf(refused)).toContain('The user has not confirmed.');
      expect((await previewAndSubmit(client, confirmed)).isError).toBeUndefined();
    });
    await client.close();
  });
});

describe('@modelcontextprotocol/sdk 1.x', () => {
  test('delivers once for three submit calls, with results that the validator of the client accepts', async () => {
    const client = new OlderClient({ name: 'older', version: '1.0.0' });
    await client.connect(
      // The library's types don't support exactOptionalPropertyTypes.
      new OlderTransport(address(), { requestInit: requestInit() }) as never,
    );
    expect(client.getServerVersion()).toMatchObject({ name: '1.0.0.127/leads' });
    // The client compiles the listed schemas and validates every result against them.
    expect((await client.listTools()).tools).toHaveLength(toolNames.length);
    await started.expecting({ forwarded: 1, rows: 1 }, async () => {
      const previewed = await client.callTool({
        name: 'preview_homeowner_quote',
        arguments: quote,
      });
      const { preview_id } = previewed.structuredContent as { preview_id: string };
      for (let n = 0; n < 3; n += 1) {
        const sent = await client.callTool({ name: 'submit', arguments: confirmed(preview_id) });
        expect(sent.structuredContent).toMatchObject({ receipt: { status: 'submitted' } });
      }
    });
    await client.close();
  });
});
