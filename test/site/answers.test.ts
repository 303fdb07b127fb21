/** What pages show as an event, and as a secret, beside what is really sent and made. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withAnswers } from '../../src/site/answers.ts';
import { call, executeAction, previewId, quote } from '../support/agent.ts';
import { type Service, startService } from '../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

let upstream: ProgrammableUpstream;
let service: Service;
beforeAll(async () => {
  upstream = await startUpstream();
  service = await startService({ environment: { UPSTREAM_URL: upstream.url } });
});
afterAll(async () => {
  await service.close();
  await upstream.close();
});

/** Names in their order and kinds, however deep. */
function shapeOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.entries(value).map(([name, each]) => [name, shapeOf(each)]);
}

test('/receivers shows an event as one arrives, from an agent too', async () => {
  const { text } = await call(service, '/receivers.md', { method: 'GET' });
  const shown = JSON.parse(/```json lead\.created\n([\s\S]*?)```/.exec(text)?.[1] ?? '');
  await executeAction(service, await previewId(service));
  const [sent] = upstream.delivered;
  // What a person may leave out is in the example.
  expect(Object.keys(quote).every((name) => name in shown.data.fields)).toBe(true);
  shown.data.fields = quote;
  expect(shapeOf(shown)).toEqual(shapeOf(sent?.event));
  expect(shown.data.recipient).toEqual(sent?.event.data.recipient);
});

test('a name with braces is no placeholder, and an answer that we do not know stays as it is', () => {
  const contractor = { id: 'c', name: '{{contact}} "Co" ```' };
  const settings = { ...service.settings, contractor };
  const markdown = withAnswers('{{answer_preview}}\n{{answer_nothing}}\n', settings);
  expect(markdown).toContain('{{answer_nothing}}');
  expect(markdown.replace('{{answer_nothing}}', '')).not.toContain('{{');
  expect(JSON.parse(markdown.split('{{')[0] ?? '').destination).toBe(contractor.name);
});
