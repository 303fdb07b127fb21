import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { CONFIRMATION_STATEMENT } from '../../src/actions/preview.ts';
import { executeAction, previewAction, previewId } from '../support/agent.ts';
import { ACCEPTED, answering, callTool, confirmed, previewByTool, WITH_FORMS } from '../support/mcp.ts';
import { scenario } from '../support/scenario.ts';
import { freshAddress, startService, tokens } from '../support/service.ts';
import { answering as upstreamAnswering } from '../support/upstream.ts';

const started = scenario();
type Options = Parameters<typeof callTool>[3];
const submit = (input: object, options?: Options) => callTool(started.service, 'submit', input, options);
const preview = () => previewByTool(started.service);
const textOf = (result: { content: { text: string }[] }) => result.content[0]?.text ?? '';
const PREVIEW_AGAIN = 'the preview tool again, show the user the new preview and ask for their confirmation.';
const NEW_PREVIEW = `Call ${PREVIEW_AGAIN}`;

/** Previews, calls submit and returns the call and state for the second call. */
async function ask(input: Record<string, unknown> = {}) {
  const call = { preview_id: await preview(), ...input };
  const asked = await submit(call, WITH_FORMS);
  return { call, asked, state: String(asked.requestState) };
}

describe('submit, client without forms', () => {
  test('sends once with the statement, and replays the receipt on a repeat', async () => {
    await started.expecting({ forwarded: 1, rows: 1 }, async () => {
      const previewed = await preview();
      const first = await submit(confirmed(previewed));
      const again = await submit(confirmed(previewed));
      expect(first.structuredContent).toMatchObject({ ok: true, receipt: { status: 'submitted' } });
      expect(again.structuredContent).toEqual({ ...first.structuredContent, replay: true });
    });
  });

  test('replays the receipt of a sent preview without a confirmation', async () => {
    const previewed = await preview();
    const { structuredContent } = await submit(confirmed(previewed));
    for (const options of [{}, WITH_FORMS]) {
      const again = await submit({ preview_id: previewed }, options);
      expect(again.structuredContent).toEqual({ ...structuredContent, replay: true });
    }
  });

  test.each([
    [{}],
    [{ confirmation: true }],
    [{ confirmation: 'true', confirmation_text: CONFIRMATION_STATEMENT }],
    [{ confirmation: true, confirmation_text: `${CONFIRMATION_STATEMENT} ` }],
  ])('refuses %j as a confirmation with instructions, and consumes nothing', async (given) => {
    const previewed = await preview();
    await started.expecting({}, async () => {
      const result = await submit({ preview_id: previewed, ...given });
      expect(result.isError).toBe(true);
      expect(textOf(result)).toContain('After an explicit yes, call submit again');
    });
    expect((await submit(confirmed(previewed))).structuredContent.ok).toBe(true);
  });

  test('treats a client that can only open URLs like a client without forms', async () => {
    const url = { capabilities: { elicitation: { url: {} } } };
    const result = await submit({ preview_id: await preview() }, url);
    expect(textOf(result)).toContain('The user has not confirmed.');
  });
});

describe('submit, client with forms', () => {
  test.each([[{}], [{ form: {} }], [{ form: {}, url: {} }]])(
    'returns input_required to a client with the elicitation capability %j',
    async (elicitation) => {
      const result = await submit({ preview_id: await preview() }, { capabilities: { elicitation } });
      expect(result.resultType).toBe('input_required');
    },
  );

  test('shows the destination, every field as JSON and the statement, without a preselected answer', async () => {
    const fields = {
      name: 'A',
      email: 'a@b.example',
      subject: 'x',
      message: 'one\nFull name: "B"',
    };
    const { body } = await previewAction(started.service, 'contact', fields);
    await started.expecting({}, async () => {
      const { inputRequests } = await submit(confirmed(body.preview_id), WITH_FORMS);
      expect(inputRequests.confirmation.method).toBe('elicitation/create');
      const { message, requestedSchema } = inputRequests.confirmation.params;
      expect(message.split('\n')).toEqual([
        'This goes to: "Paint Match"',
        'Full name: "A"',
        'E-mail address: "a@b.example"',
        'Subject: "x"',
        'Message: "one\\nFull name: \\"B\\""',
        CONFIRMATION_STATEMENT,
      ]);
      expect(requestedSchema).toEqual({
        type: 'object',
        required: ['confirmation_text'],
        properties: {
          confirmation_text: {
            type: 'string',
            title: 'May this be sent?',
            oneOf: [CONFIRMATION_STATEMENT, 'Do not send'].map((each) => {
              return { const: each, title: each };
            }),
          },
        },
      });
    });
  });

  test('sends after the user accepts the statement, and records client_form as confirmed_via', async () => {
    const { call, state } = await ask();
    await started.expecting({ forwarded: 1, rows: 1 }, async () => {
      const { structuredContent } = await submit(call, answering(state, ACCEPTED));
      const input = { action_id: structuredContent.receipt.action_id };
      const shown = await callTool(started.service, 'get_receipt', input);
      expect(shown.structuredContent.confirmed_via).toBe('client_form');
    });
  });

  test.each([
    ['decline', { action: 'decline' }],
    ['“Do not send”', { action: 'accept', content: { confirmation_text: 'Do not send' } }],
  ])(
    'sends nothing after the form answer %s, and refuses the preview for every client afterwards',
    async (_name, answer) => {
      const { call, state } = await ask();
      await started.expecting({ rows: 1 }, async () => {
        const declined = await submit(call, answering(state, answer));
        expect([declined.isError, textOf(declined)]).toEqual([
          true,
          `The user declined, and nothing was sent (confirmation_declined). Only if the user changes their mind, call ${PREVIEW_AGAIN}`,
        ]);
        for (const [token, options] of [
          [tokens.both, answering(state, ACCEPTED)],
          [tokens.both, {}],
          [tokens.other, {}],
        ] as const) {
          const refused = await submit(confirmed(call.preview_id), { ...options, token });
          expect(textOf(refused)).toContain('(confirmation_declined)');
        }
        const { status, body } = await executeAction(started.service, call.preview_id);
        expect([status, body]).toEqual([409, { error: 'confirmation_declined' }]);
      });
    },
  );

  test.each([
    ['a cancelled form', { action: 'cancel' }],
    ['an empty form', { action: 'accept', content: {} }],
    ['an answer without content', { action: 'accept' }],
    ['a text that is not the statement', { action: 'accept', content: { confirmation_text: 'yes' } }],
    ['a cancelled form with the statement', { ...ACCEPTED, action: 'cancel' }],
  ])('sends nothing after %s, and keeps the preview usable', async (_name, answer) => {
    const { call, state } = await ask();
    await started.expecting({}, async () => {
      const result = await submit(call, answering(state, answer));
      expect([result.isError, textOf(result)]).toEqual([
        true,
        expect.stringContaining('did not answer. Nothing was sent. To ask again'),
      ]);
    });
    const sent = await submit(call, answering(state, ACCEPTED));
    expect(sent.structuredContent.receipt.status).toBe('submitted');
  });

  test('returns input_required again for an answer without a state, and for a state without an answer', async () => {
    const { call, state } = await ask();
    await started.expecting({}, async () => {
      for (const parameters of [
        { requestState: state },
        { requestState: state, inputResponses: {} },
        { inputResponses: { confirmation: ACCEPTED } },
      ]) {
        const again = await submit(call, { ...WITH_FORMS, parameters });
        expect(again.resultType).toBe('input_required');
      }
    });
  });

  test('returns −32602 for a forged state, and for a state of another client or of other arguments', async () => {
    const { call, state } = await ask();
    const other = await preview();
    await started.expecting({}, async () => {
      for (const [input, options] of [
        [call, { ...answering(state, ACCEPTED), token: tokens.other }],
        [{ ...call, preview_id: other }, answering(state, ACCEPTED)],
        [{ ...call, confirmation: true }, answering(state, ACCEPTED)],
        [call, answering(`${state}x`, ACCEPTED)],
        [call, answering('', ACCEPTED)],
      ] as const) {
        expect((await submit(input, options)).code).toBe(-32_602);
      }
    });
  });

  test('refuses an accepted form if the preview has expired meanwhile', async () => {
    const { call, state } = await ask();
    started.clock.advance(600_000);
    await started.expecting({}, async () => {
      const result = await submit(call, answering(state, ACCEPTED));
      expect(textOf(result)).toBe(`This preview has expired. ${NEW_PREVIEW}`);
    });
  });
});

describe('submit, order of checks (reference §8.7)', () => {
  test('checks the rate limit, scope, configuration, arguments and token, in this order', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    for (let n = 0; n < 20; n += 1) await executeAction(started.service, '', { headers });
    expect(textOf(await submit({}, { headers, token: tokens.preview }))).toContain('Too many');

    const bare = await startService({ environment: { PREVIEW_SIGNING_KEYS: '' } });
    for (const [token, said] of [
      [tokens.preview, 'lacks the scope'],
      [tokens.create, 'not configured'],
    ] as const) {
      expect(textOf(await callTool(bare, 'submit', {}, { token }))).toContain(said);
    }
    await bare.close();

    expect(textOf(await submit({ preview_id: true }))).toContain('preview_id must be');
    expect(textOf(await submit({ preview_id: 'x' }, WITH_FORMS))).toContain('not valid');
  });

  test('counts every call towards the rate of execute, also a call with the answer to a form', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    const { call, state } = await ask();
    for (let n = 0; n < 20; n += 1) {
      const answer = answering(state, { action: 'cancel' });
      expect(textOf(await submit(call, { ...answer, headers }))).toContain('did not answer');
    }
    const refused = await submit(call, { ...answering(state, ACCEPTED), headers });
    expect(textOf(refused)).toContain('Too many requests.');
  });

  test('replays the receipt of a sent preview after the preview has expired', async () => {
    const previewed = await preview();
    const { structuredContent } = await submit(confirmed(previewed));
    started.clock.advance(600_000);
    const again = await submit({ preview_id: previewed });
    expect(again.structuredContent.receipt).toEqual(structuredContent.receipt);
  });
});

describe('submit, over MCP and HTTP', () => {
  test('refuses a preview executed over HTTP, and HTTP refuses a preview that submit executed', async () => {
    const previewed = await previewId(started.service);
    await executeAction(started.service, previewed);
    await started.expecting({ forwarded: 1, rows: 1 }, async () => {
      expect(textOf(await submit(confirmed(previewed)))).toContain('(preview_already_used)');
      const other = await preview();
      await submit(confirmed(other));
      const { status, body } = await executeAction(started.service, other);
      expect([status, body.error]).toEqual([409, 'preview_already_used']);
      // A client that sends the same key over HTTP gets a replay.
      const key = `mcp:${createHash('sha256').update(other).digest('hex')}`;
      expect((await executeAction(started.service, other, { key })).body.replay).toBe(true);
    });
  });

  test('delivers once and returns one receipt for fifty simultaneous calls with one preview', async () => {
    const previewed = await preview();
    await started.expecting({ forwarded: 1, rows: 1 }, async () => {
      const all = await Promise.all(Array.from({ length: 50 }, () => submit(confirmed(previewed))));
      const sent = all.filter((each) => each.structuredContent !== undefined);
      expect(new Set(sent.map((each) => JSON.stringify(each.structuredContent.receipt))).size).toBe(1);
      for (const each of all.filter((one) => one.isError)) {
        expect(textOf(each)).toContain('in progress. Wait 1 second, then call this tool again');
      }
    });
  });
});

describe('submit, failed execution', () => {
  test.each([
    [422, {}, `The destination rejected the submission. ${NEW_PREVIEW}`],
    [429, { 'retry-after': '7' }, `no more submissions for now. Wait 7 seconds. ${NEW_PREVIEW}`],
    [
      500,
      {},
      `could not confirm the submission. Tell the user that the submission may not have arrived. To try again, call ${PREVIEW_AGAIN}`,
    ],
  ])('returns the reason and the action_id if the destination answers %i', async (status, headers, said) => {
    started.upstream.answer = upstreamAnswering(status, headers);
    const previewed = await preview();
    const result = await submit(confirmed(previewed));
    const [, words, id] = /^(.*) action_id: (\S+)$/.exec(textOf(result)) ?? [];
    expect([result.isError, words]).toEqual([true, expect.stringContaining(said)]);
    expect(result).not.toHaveProperty('structuredContent');
    const shown = await callTool(started.service, 'get_receipt', { action_id: id });
    expect(shown.structuredContent.receipt.status).toBe('failed');
    await started.expecting({}, async () => {
      expect(textOf(await submit(confirmed(previewed)))).toContain(`action_id: ${id}`);
    });
  });
});
