/** The demo's first half: what an agent does for a person (spec §4.1, §4.3, §4.4). */

import type { Receipt } from '../../actions/receipt.ts';
import { randomSecret } from '../../chance.ts';
import { forms } from '../../forms/catalog.ts';
import { exampleFields } from '../../forms/examples.ts';
import { pathTo, routes } from '../../routes.ts';
import type { Reply, Step, Story } from './story.ts';

const form = forms.homeowner_quote;
const values = { action: form.name };

/** Finds out what there is; needs no credential. */
export async function discover(story: Story): Promise<void> {
  await story.tell({
    does: 'Read the manifest: what can be done here?',
    method: 'GET',
    path: routes.getWellKnownManifest.path,
    status: 200,
    holds: ({ body }) => Object.keys(forms).every((name) => actionsOf(body).includes(name)),
    means: ({ body }) => [
      `Version ${body.version}, with the actions ${actionsOf(body).join(', ')}.`,
    ],
  });
}

/** What is sent, and what is expected of the answer. */
type Execution = Pick<Step, 'does' | 'status' | 'holds' | 'means'> & {
  id: unknown;
  statement: unknown;
  key: string;
};

/** Previews, confirms, executes once, and tries what must not happen. */
export async function actAsAgent(story: Story, token: string): Promise<void> {
  const authorization = { authorization: `Bearer ${token}` };

  const preview = (does: string, means: (reply: Reply) => string[]) =>
    story.tell({
      does,
      method: 'POST',
      path: pathTo(routes.previewAction, values),
      headers: authorization,
      body: JSON.stringify(exampleFields(form)),
      status: 200,
      holds: ({ body }) => typeof body.preview_id === 'string' && body.ok === true,
      means,
    });
  const execute = ({ id, statement, key, ...expected }: Execution) =>
    story.tell({
      method: 'POST',
      path: pathTo(routes.executeAction, values),
      headers: { ...authorization, 'idempotency-key': key },
      shows: `Idempotency-Key: ${key}`,
      body: JSON.stringify({ preview_id: id, confirmation: true, confirmation_text: statement }),
      ...expected,
    });

  const previewed = await preview('Ask for a preview', ({ body }) => [
    'Checked and normalized, and sent to nobody yet. The agent shows the person this:',
    ...Object.entries(body.fields ?? {}).map(([name, value]) => `  ${name.padEnd(14)}${value}`),
    `  ${'goes to'.padEnd(14)}${body.destination}`,
    `  “${body.confirmation_statement}”`,
  ]);
  const { preview_id: id, confirmation_statement: statement } = previewed.body;
  const confirmed = { id, statement, key: newKey() };

  await execute({
    ...confirmed,
    statement: 'Yes, go ahead.',
    does: 'Execute with other words than the statement',
    status: 409,
    holds: ({ body }) => body.receipt === undefined && body.retryable === undefined,
    means: ['Not confirmed: nothing was sent, and the preview is still good.'],
  });
  const executed = await execute({
    ...confirmed,
    does: 'Execute with the exact statement: the person said yes',
    status: 200,
    holds: ({ body }) => receiptOf(body)?.status === 'submitted' && body.replay === undefined,
    means: ({ body }) => [`Submitted. The receipt to keep: ${receiptOf(body)?.action_id}.`],
  });
  const receipt = JSON.stringify(executed.body.receipt);
  await execute({
    ...confirmed,
    does: 'Send the same once more, as after a lost answer',
    status: 200,
    holds: ({ body }) => body.replay === true && JSON.stringify(body.receipt) === receipt,
    means: ['A replay: the same receipt again, and nothing was sent a second time.'],
  });
  await execute({
    ...confirmed,
    key: newKey(),
    does: 'Execute the same preview under another key',
    status: 409,
    holds: ({ body }) => body.error === 'preview_already_used',
    means: ['preview_already_used: one confirmation is good for one submission.'],
  });
  const second = await preview('Ask for a second preview', () => [
    'A new request of the person, with a confirmation of its own.',
  ]);
  await execute({
    ...confirmed,
    id: second.body.preview_id,
    does: 'Execute it under the key of the first',
    status: 409,
    holds: ({ body }) => body.error === 'idempotency_conflict',
    means: ['idempotency_conflict: a key belongs to one request. Nothing was sent.'],
  });
}

/** Unguessable, and short enough to be compared by eye. */
function newKey(): string {
  return `demo-${randomSecret(8).toString('hex')}`;
}

function actionsOf(body: Reply['body']): string[] {
  const actions = Array.isArray(body.actions) ? body.actions : [];
  return actions.map((one: { action?: unknown }) => String(one.action));
}

function receiptOf(body: Reply['body']): Receipt | undefined {
  return body.receipt as Receipt | undefined;
}
