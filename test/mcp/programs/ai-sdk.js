/**
 * Runs a scripted model in the loop of the AI SDK. It previews, then submits twice. Arguments: the address, the
 * credential and, for a host with forms, the person's answer. Prints the answer of each tool.
 */
import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp';
import { generateText, isStepCount } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

const [url, token, person] = process.argv.slice(2);

const client = await createMCPClient({
  transport: { type: 'http', url, headers: { Authorization: `Bearer ${token}` } },
  capabilities: person === undefined ? {} : { elicitation: {} },
});
const asked = [];
if (person !== undefined) {
  client.onElicitationRequest(ElicitationRequestSchema, ({ params }) => {
    asked.push(params.message);
    const [statement] = params.requestedSchema.properties.confirmation_text.oneOf;
    return person === 'accept'
      ? { action: 'accept', content: { confirmation_text: statement.const } }
      : { action: person };
  });
}

const fields = { name: 'Ada Lovelace', email: 'ada@example.com', postal_code: '94110' };
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const calls = (toolName, input) => ({
  content: [{ type: 'tool-call', toolCallId: `${Math.random()}`, toolName, input: JSON.stringify(input) }],
  finishReason: { unified: 'tool-calls', raw: undefined },
  usage,
  warnings: [],
});

/** Returns the answer of the last tool, as the model gets it. */
function lastAnswer(prompt) {
  const { output } = prompt.at(-1).content.at(-1);
  const text = typeof output.value === 'string' ? output.value : output.value[0]?.text;
  return text ?? JSON.stringify(output.value);
}

let submission;
let step = 0;
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    step += 1;
    if (step === 1) return calls('preview_homeowner_quote', fields);
    if (step === 2) {
      const [, previewId] = /\\?"preview_id\\?":\\?"([\w.-]+)/.exec(lastAnswer(prompt)) ?? [];
      const [, statement] = /\\?"confirmation_statement\\?":\\?"([^"\\]+)/.exec(lastAnswer(prompt)) ?? [];
      submission = { preview_id: previewId, confirmation: true, confirmation_text: statement };
    }
    if (step <= 3) return calls('submit', submission);
    const content = [{ type: 'text', text: 'done' }];
    return { content, finishReason: { unified: 'stop', raw: undefined }, usage, warnings: [] };
  },
});

const { steps } = await generateText({
  model,
  tools: await client.tools(),
  stopWhen: isStepCount(5),
  prompt: 'Get me a quote.',
});
const results = steps.flatMap(({ toolResults }) => toolResults.map(({ output }) => output));
console.log(JSON.stringify({ asked, results }));
await client.close();
