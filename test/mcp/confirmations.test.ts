/** The tools that request and read a confirmation, and the labels of the form in a host (reference §8.5, §8.8). */
import { describe, expect, test } from 'vitest';
import { CONFIRMATION_STATEMENT } from '../../src/actions/preview.ts';
import { pressButton } from '../confirmations/rig.ts';
import { previewAction } from '../support/agent.ts';
import { ACCEPTED, answering, callTool, confirmed, previewByTool, WITH_FORMS } from '../support/mcp.ts';
import { scenario } from '../support/scenario.ts';
import { startService, tokens } from '../support/service.ts';

const started = scenario();
type Result = { isError?: boolean; content: { text: string }[] };
const textOf = ({ content }: Result) => content[0]?.text ?? '';
const sentenceOf = (result: Result) => textOf(result).split('\n')[0];
const tool = (name: string, input: object, token: string = tokens.both) =>
  callTool(started.service, name, input, { token });

describe('request_confirmation and get_receipt', () => {
  test('return the confirmation with the next step until the person has confirmed, and then the receipt', async () => {
    const asked = await tool('request_confirmation', { preview_id: await previewByTool(started.service) });
    const { confirmation, ...rest } = asked.structuredContent;
    expect([rest, confirmation.status]).toEqual([{ ok: true }, 'pending']);
    expect(sentenceOf(asked)).toMatch(
      /^This call sends nothing itself\. .*confirmation_url.* call get_receipt with the id as action_id\.$/,
    );
    const { confirmation_url: url, ...shown } = confirmation;
    const waiting = await tool('get_receipt', { action_id: confirmation.id });
    expect(waiting.structuredContent).toEqual({ ok: true, confirmation: shown });
    expect(sentenceOf(waiting)).toMatch(/^This is what became of the confirmation; .* call get_receipt again\.$/);

    await pressButton(started.service, new URL(url).pathname, 'send');
    const sent = await tool('get_receipt', { action_id: confirmation.id });
    expect(sent.structuredContent).toMatchObject({ ok: true, receipt: { status: 'submitted' }, confirmed_via: 'page' });
    expect(sentenceOf(sent)).toBe('This is the receipt; it never changes.');
  });

  test('return the confirmation after the person declined, which has no receipt', async () => {
    const asked = await tool('request_confirmation', { preview_id: await previewByTool(started.service) });
    const { id, confirmation_url: url } = asked.structuredContent.confirmation;
    await pressButton(started.service, new URL(url).pathname, 'decline');
    const declined = await tool('get_receipt', { action_id: id });
    expect(declined.structuredContent).toMatchObject({ ok: true, confirmation: { id, status: 'declined' } });
  });

  test.each([
    ['request_confirmation', {}, tokens.both, 'preview_id must be'],
    ['request_confirmation', { preview_id: true }, tokens.both, 'preview_id must be'],
    ['request_confirmation', { preview_id: 'x' }, tokens.both, 'not valid'],
    ['request_confirmation', {}, tokens.preview, 'lacks the scope'],
    ['get_receipt', {}, tokens.both, 'There is no such receipt'],
    ['get_receipt', { action_id: ['x'] }, tokens.both, 'There is no such receipt'],
    ['get_receipt', { action_id: {} }, tokens.both, 'There is no such receipt'],
  ])('%s with %j is refused', async (name, input, token, said) => {
    const result = await tool(name, input, token);
    expect([result.isError, textOf(result)]).toEqual([true, expect.stringContaining(said)]);
  });

  test('get_receipt says that an execution is in progress until it ends', async () => {
    const said = new Promise<string>((resolve) => {
      started.upstream.answer = async (response, { event }) => {
        const result = await tool('get_receipt', { action_id: event.data.id });
        response.writeHead(200).end();
        resolve(textOf(result));
      };
    });
    await tool('submit', confirmed(await previewByTool(started.service)));
    expect(await said).toContain('This execution is in progress.');
  });
});

describe('submit, client with forms', () => {
  test('returns −32602 for the state of a call with another confirmation_text', async () => {
    const call = { preview_id: await previewByTool(started.service) };
    const { requestState } = await callTool(started.service, 'submit', call, WITH_FORMS);
    for (const confirmation_text of ['x', CONFIRMATION_STATEMENT]) {
      const answer = answering(requestState, ACCEPTED);
      expect((await callTool(started.service, 'submit', { ...call, confirmation_text }, answer)).code).toBe(-32_602);
    }
  });

  test('shows the operator’s own labels of the fields', async () => {
    const service = await startService({ environment: { CONTENT_DIR: 'examples/content-de' } });
    const fields = { name: 'A', email: 'a@b.example', subject: 'x', message: 'y' };
    const { body } = await previewAction(service, 'contact', fields);
    const { inputRequests } = await callTool(service, 'submit', { preview_id: body.preview_id }, WITH_FORMS);
    await service.close();
    const { message } = inputRequests.confirmation.params;
    expect(message).toContain('Nachricht: "y"');
    expect(message).not.toContain('Message:');
  });
});
