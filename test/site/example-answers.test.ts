/** Compares the examples on the pages with the real answers and events. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fillInAnswers } from '../../src/site/example-answers.ts';
import type { SiteSettings } from '../../src/site/placeholders.ts';
import { call, executeAction, previewId, quote } from '../support/agent.ts';
import { type Service, startService } from '../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { deployment } from './deployment.ts';

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

/** Replaces each value with its type, at any depth, and retains the order of names. */
function shapeOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.entries(value).map(([name, each]) => [name, shapeOf(each)]);
}

test('/receivers shows an event with the same names and types as a delivered event', async () => {
  const { text } = await call(service, '/receivers.md', { method: 'GET' });
  const shown = JSON.parse(/```json lead\.created\n([\s\S]*?)```/.exec(text)?.[1] ?? '');
  await executeAction(service, await previewId(service));
  const [sent] = upstream.delivered;
  expect(Object.keys(quote).every((name) => name in shown.data.fields)).toBe(true);
  shown.data.fields = quote;
  expect(shapeOf(shown)).toEqual(shapeOf(sent?.event));
  expect(shown.data.recipient).toEqual(sent?.event.data.recipient);
});

test('fillInAnswers leaves braces in a name and the placeholder of an unknown example unchanged', () => {
  const contractor = { id: 'c', name: '{{contact}} "Co" ```' };
  const settings = { ...service.settings, contractor };
  const markdown = fillInAnswers('{{answer_preview}}\n{{answer_nothing}}\n', settings);
  expect(markdown).toContain('{{answer_nothing}}');
  expect(markdown.replace('{{answer_nothing}}', '')).not.toContain('{{');
  expect(JSON.parse(markdown.split('{{')[0] ?? '').destination).toBe(contractor.name);
});

test('fillInAnswers leaves a placeholder inside a line unchanged', () => {
  const inside = ['x {{answer_preview}}', '{{answer_preview}} x'].join('\n');
  expect(fillInAnswers(inside, deployment)).toBe(inside);
});

test('fillInAnswers names the contractor and the address of the deployment', () => {
  const contractor = { id: 'c-1', name: 'Sample & Sons' };
  const answer = (name: string, settings: SiteSettings = { ...deployment, contractor }) =>
    JSON.parse(fillInAnswers(`{{answer_${name}}}`, settings));
  expect(answer('preview')).toMatchObject({ ok: true, destination: 'Sample & Sons' });
  expect(answer('execution')).toMatchObject({ ok: true, receipt: { status: 'submitted' } });
  expect(answer('confirmation')).toMatchObject({
    ok: true,
    confirmation: {
      status: 'pending',
      destination: 'Sample & Sons',
      confirmation_url: 'https://paint.example/confirm/an-example-is-no-link',
    },
  });
  expect(answer('event')).toMatchObject({ type: 'lead.created', data: { recipient: contractor } });
  const unnamed: SiteSettings = { ...deployment, contractor: undefined };
  expect(answer('preview', unnamed).destination).toBe('one vetted painting contractor');
  expect(answer('event', unnamed).data.recipient).toEqual(expect.objectContaining({ name: expect.any(String) }));
});
