import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { SCOPES } from '../../src/credentials/clients.ts';
import { bounds } from '../../src/forms/bounds.ts';

const project = resolve(import.meta.dirname, '../..');
const { rates } = bounds;
const lifetime = `${bounds.previewLifetimeMinutes} minutes`;

test.each([
  ['content/agents.md', `A preview is good for ${lifetime}.`],
  ['content/agents.md', `two scopes, \`${SCOPES.join('` and `')}\``],
  ['content/agents.md', `Previews: ${rates.preview.limit} per minute`],
  ['content/agents.md', `Executions: ${rates.execute.limit} per minute`],
  ['content/agents.md', `A value has at most ${bounds.valueLength} characters`],
  ['content/agents.md', `an \`Idempotency-Key\` at most ${bounds.idempotencyKeyLength}`],
  ['docs/operations.md', `as long as a preview lives (${lifetime})`],
  ['docs/operations.md', `start the service ${lifetime} after it was stopped`],
])('%s names the limit that the service enforces: %s', (file, sentence) => {
  expect(readFileSync(resolve(project, file), 'utf8')).toContain(sentence);
});
