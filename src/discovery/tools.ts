/**
 * The actions as tools of a language model, from the one declaration: one to preview each action,
 * one to execute. Each shape is what that API takes as it is.
 */
import { CONFIRMATION_STATEMENT } from '../actions/confirmation-statement.ts';
import { bounds } from '../forms/bounds.ts';
import type { Field, Form } from '../forms/catalog.ts';
import { destinationName, type Facts, formsOf } from './facts.ts';
import { fieldsSchema, inSentences, type JsonSchema, suggestionsOf } from './form-schemas.ts';

type Tool = {
  name: string;
  title: string;
  description: string;
  /** Optional fields are left out where there is nothing to say. */
  input: JsonSchema;
  /** For strict mode, where every property is required: `null` stands for nothing. */
  strictInput: JsonSchema;
  sends: boolean;
};

/** The name of the one tool that sends. */
export const EXECUTE_TOOL = 'execute_action';

/** Takes a form; returns the name of the tool that previews it. */
export function previewToolName(form: Form): string {
  return `preview_${form.name}`;
}

function toolsOf(facts: Facts): Tool[] {
  return [...formsOf(facts).map((form) => previewTool(form, facts)), executeTool(facts)];
}

function previewTool(form: Form, facts: Facts): Tool {
  const destination = destinationName(form, facts);
  const required = form.fields.map(({ name }) => name);
  const properties = Object.fromEntries(form.fields.map((each) => [each.name, strictField(each)]));
  return {
    name: previewToolName(form),
    title: `Preview: ${form.purpose}`,
    description: [
      `${form.purpose}: step one of two.`,
      'Use this when the user wants it and has given you the required fields; ask for what is missing and never make anything up.',
      'It only checks the fields: nothing is sent to anybody.',
      `It returns preview_id, the fields as they would be sent, destination, confirmation_statement and expires_at, ${bounds.previewLifetimeMinutes} minutes later; or an error that says what to correct.`,
      `Next, show the user all fields, the destination${destination === undefined ? '' : ` (${destination})`} and the confirmation_statement, and ask. Call ${EXECUTE_TOOL} only after an explicit yes.`,
    ].join(' '),
    input: { ...fieldsSchema(form), additionalProperties: false },
    strictInput: { type: 'object', properties, required, additionalProperties: false },
    sends: false,
  };
}

/** Strict mode knows no bounds of length: they are told in words. */
function strictField(field: Field): JsonSchema {
  const { label, hint, choices, maximum, required, example } = field;
  const bounds = [`At most ${maximum} characters`, `Example: ${example}`];
  const none = required ? undefined : 'null if the user gave none';
  return {
    type: required ? 'string' : ['string', 'null'],
    description: inSentences([label, hint, suggestionsOf(choices), ...bounds, none]),
  };
}

function executeTool(facts: Facts): Tool {
  const text = (description: string) => ({ type: 'string', description });
  const properties = {
    action: {
      ...text('The action that was previewed.'),
      enum: formsOf(facts).map(({ name }) => name),
    },
    preview_id: text('From the preview, unchanged.'),
    confirmation: {
      type: 'boolean',
      enum: [true],
      description: 'True only after the user has explicitly agreed.',
    },
    confirmation_text: {
      ...text('The confirmation_statement that the user agreed to, character for character.'),
      enum: [CONFIRMATION_STATEMENT],
    },
  };
  const required = Object.keys(properties);
  const input = { type: 'object', properties, required, additionalProperties: false };
  return {
    name: EXECUTE_TOOL,
    title: 'Execute a confirmed action',
    description: [
      'Submits what was previewed, once: step two of two. It can’t be undone.',
      'Use this only after the user has seen the fields, the destination and the confirmation_statement of the preview and has explicitly agreed; silence or an earlier instruction is not a yes.',
      'It returns the receipt: tell the user, and keep its action_id. A receipt with status failed, or 502, means that it may not have arrived.',
      'Next: nothing after a success. With retryable true, the same call again. After a failure or an expired preview, preview again, show the user the new preview and ask again.',
    ].join(' '),
    input,
    strictInput: input,
    sends: true,
  };
}

/** One function of each shape, by the name of its file. */
export const toolShapes: Readonly<Record<string, (facts: Facts) => object>> = {
  /** `tools` of OpenAI's Responses API. */
  'openai-responses': (facts) =>
    toolsOf(facts).map(({ name, description, strictInput }) => ({
      type: 'function',
      name,
      description,
      parameters: strictInput,
      strict: true,
    })),
  /** `tools` of OpenAI's Chat Completions API, and of the many that copy it. */
  'openai-chat-completions': (facts) =>
    toolsOf(facts).map(({ name, description, strictInput }) => ({
      type: 'function',
      function: { name, description, parameters: strictInput, strict: true },
    })),
  /** `tools` of Anthropic's Messages API. */
  anthropic: (facts) =>
    toolsOf(facts).map(({ name, description, input }) => ({
      name,
      description,
      input_schema: input,
    })),
  /** The result of `tools/list` of the Model Context Protocol. */
  mcp: (facts) => ({
    tools: toolsOf(facts).map(({ name, title, description, input, sends }) => ({
      name,
      title,
      description,
      inputSchema: input,
      annotations: {
        title,
        readOnlyHint: !sends,
        // It only adds, but what was sent can't be called back: a client should ask before.
        destructiveHint: sends,
        idempotentHint: true,
        openWorldHint: sends,
      },
    })),
  }),
};
