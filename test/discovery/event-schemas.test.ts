import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { eventExamples, eventTypes } from '../../src/submissions/events.ts';
import { confirm, leave, rowOf } from '../newsletter/rig.ts';
import { executeAction, previewId } from '../support/agent.ts';
import { post } from '../support/forms.ts';
import { type Service, startService } from '../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

let service: Service;
let upstream: ProgrammableUpstream;
beforeAll(async () => {
  upstream = await startUpstream();
  service = await startService({ environment: { UPSTREAM_URL: upstream.url } });
});
afterAll(async () => {
  await service.close();
  await upstream.close();
});

async function schemaOf(type: string) {
  const response = await fetch(`${service.url}/schemas/${type}.json`);
  return (await response.json()) as Record<string, unknown>;
}

test.each(eventTypes)(
  'the schema of %s contains its own address and its dialect, and OpenAPI links to the schema',
  async (type) => {
    const url = `${service.url}/schemas/${type}.json`;
    expect(await schemaOf(type)).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: url,
      title: type,
    });
    // biome-ignore lint/suspicious/noExplicitAny: a document is walked by name, whatever it holds
    const openapi: any = await (await fetch(`${service.url}/openapi.json`)).json();
    expect(openapi.webhooks[type].post.externalDocs.url).toBe(url);
    const events = openapi.tags.find((tag: { name: string }) => tag.name === 'Events');
    expect((await fetch(events.externalDocs.url)).status).toBe(200);
  },
);

test.each(['/schemas/lead.created.json', '/llms.txt', '/quote.md'])(
  'CORS allows pages of other origins to request %s with If-None-Match',
  async (path) => {
    const response = await fetch(service.url + path, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://validator.example',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'if-none-match',
      },
    });
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
  },
);

test('every sent event and every example matches only the schema of its type', async () => {
  const fields = { name: 'Ada', email: 'ada@example.com', subject: 'Hi', message: 'One\ntwo' };
  await post(service, '/api/leads', 'json', { form: 'contact', ...fields });
  await post(service, '/api/subscribe', 'json', { email: 'ada@example.com', privacy: 'on' });
  await executeAction(service, await previewId(service));
  const row = (await rowOf(service, 'ada@example.com')) ?? expect.fail();
  await confirm(service, row);
  await leave(service, row);
  await service.parts.subscriptionLinks.close();
  expect(upstream.delivered.map(({ event }) => event.type)).toEqual([
    'lead.created',
    'subscriber.created',
    'lead.created',
    'subscriber.confirmed',
    'subscriber.unsubscribed',
  ]);
  const schemas = await Promise.all(
    eventTypes.map(async (type) => [type, z.fromJSONSchema(await schemaOf(type))] as const),
  );
  const examples = eventTypes.flatMap((type) => Object.values(eventExamples(type)));
  for (const event of [...upstream.delivered.map((each) => each.event), ...examples]) {
    const fitting = schemas.filter(([, schema]) => schema.safeParse(event).success);
    expect(fitting.map(([type]) => type)).toEqual([event.type]);
  }
});
