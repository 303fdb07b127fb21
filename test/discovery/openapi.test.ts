import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { CONFIRMATION_STATEMENT } from '../../src/actions/preview.ts';
import { API_VERSION } from '../../src/discovery/deployment.ts';
import { type Problem, problems } from '../../src/failures/catalogue.ts';
import { type FormName, findForm, forms } from '../../src/forms/catalog.ts';
import { validate } from '../../src/forms/validate.ts';
import { type DiscoveryServer, facts, startDiscovery } from './discovery-server.ts';

// biome-ignore lint/suspicious/noExplicitAny: a document is walked by name, whatever it holds
type Json = any;

let server: DiscoveryServer;
let document: Json;
beforeAll(async () => {
  server = await startDiscovery();
  document = await server.json('/openapi.json');
});
afterAll(() => server.close());

/** Documented failures that are not in the catalogue. */
const BESIDE_THE_CATALOGUE = ['replayOfFailed'];

const PREVIEW = '/api/agent/actions/{action}/preview';
const EXECUTE = '/api/agent/actions/{action}/execute';

describe('OpenAPI document', () => {
  test('names OpenAPI 3.1.1, the API version, the server and the licence', () => {
    expect(document.openapi).toBe('3.1.1');
    expect(document.info.version).toBe(API_VERSION);
    expect(document.info.license).toEqual({ name: 'MIT', identifier: 'MIT' });
    expect(document.servers[0].url).toBe(facts.baseUrl);
  });

  test('contains exactly the API routes, and no page, Markdown copy or HEAD', () => {
    const routes = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    expect(routes.sort()).toEqual(
      [
        'get /.well-known/service-agent.json',
        'get /api/agent/manifest',
        'get /api/agent/content',
        'get /llms.txt',
        'get /openapi.json',
        'get /.well-known/jwks.json',
        'get /api/agent/receipts/{action_id}',
        `post ${PREVIEW}`,
        `post ${EXECUTE}`,
        'post /api/agent/confirmations',
        'get /api/agent/confirmations/{id}',
        'delete /api/agent/confirmations/{id}',
        'post /api/leads',
        'post /api/subscribe',
      ].sort(),
    );
  });

  test('has a unique operationId of a verb and a noun for every operation', () => {
    const ids = everyOperation().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) {
      expect(id).toMatch(/^(get|list|preview|execute|create|cancel|submit|subscribe|receive)([A-Z][a-z]+)+$/);
    }
  });

  test('has descriptions and summaries of at most 300 characters', () => {
    const texts = collect(document, (key) => key === 'description' || key === 'summary').filter(
      (text) => typeof text === 'string',
    );
    expect(texts.length).toBeGreaterThan(100);
    for (const text of texts) expect(text.length, text).toBeLessThanOrEqual(300);
  });

  test('describes its tags, and every operation has security, a 2xx response and a 4xx response', () => {
    const described = document.tags.filter((tag: Json) => tag.description !== '');
    const names = described.map((tag: Json) => tag.name);
    for (const { operation } of everyOperation()) {
      expect(names).toContain(operation.tags[0]);
      expect(operation.security).toBeInstanceOf(Array);
      const statuses = Object.keys(operation.responses);
      expect(statuses.some((status) => status.startsWith('2'))).toBe(true);
      expect(statuses.some((status) => status.startsWith('4'))).toBe(true);
    }
  });

  test('requires scopes only for agent operations, as alternatives if one of two scopes is enough', () => {
    expect(document.components.securitySchemes.agentCredential).toMatchObject({
      type: 'http',
      scheme: 'bearer',
    });
    for (const { path, operation } of everyOperation()) {
      const scopes = {
        previewAction: ['lead:preview'],
        executeAction: ['lead:create'],
        createConfirmation: ['lead:create'],
        getConfirmation: ['lead:preview', 'lead:create'],
        getReceipt: ['lead:preview', 'lead:create'],
        cancelConfirmation: ['lead:create'],
      }[operation.operationId as string];
      const needed = (scopes ?? []).map((scope) => ({ agentCredential: [scope] }));
      expect(operation.security, path).toEqual(needed);
    }
  });

  test('resolves each reference and uses each component', () => {
    const used = new Set(collect(document, (key) => key === '$ref') as string[]);
    for (const reference of used) expect(resolve(reference), reference).toBeDefined();
    for (const section of ['schemas', 'headers']) {
      for (const name of Object.keys(document.components[section])) {
        const reference = `#/components/${section}/${name}`;
        expect(used.has(reference), reference).toBe(true);
      }
    }
  });

  test('has only examples that match their schema', () => {
    const media = collect(document, (key) => key === 'application/json') as Json[];
    const examples = media.flatMap(({ schema, examples = {} }) =>
      Object.entries<Json>(examples).map(([name, { value }]) => ({ name, value, schema })),
    );
    expect(examples.length).toBeGreaterThan(80);
    for (const { name, value, schema } of examples) {
      const parsed = z.fromJSONSchema(inline(schema)).safeParse(value);
      expect(parsed.error, name).toBeUndefined();
    }
  });
});

describe('OpenAPI request bodies', () => {
  test.each(Object.values(forms))('of $name contain every field with its maximum length', (form) => {
    const title = form.name.replace(/(^|_)(\w)/g, (_, __, letter) => letter.toUpperCase());
    for (const suffix of ['Fields', 'Lead']) {
      const schema = document.components.schemas[title + suffix];
      expect(schema.title).toBe(title + suffix);
      for (const field of form.fields) {
        const property = schema.properties[field.name];
        expect(property.maxLength).toBe(field.maximum);
        expect(property.examples).toEqual([field.example]);
        expect(property.description).toContain(field.label);
        expect(schema.required.includes(field.name)).toBe(field.required);
      }
    }
    const bodies = [requestOf(PREVIEW), requestOf('/api/leads')].flatMap((body) => body.schema.anyOf);
    for (const suffix of ['Fields', 'Lead']) {
      expect(bodies).toContainEqual({ $ref: `#/components/schemas/${title}${suffix}` });
    }
  });

  test.each([PREVIEW, '/api/leads'])('of %s have one valid example per form', (path) => {
    const { examples } = requestOf(path);
    expect(Object.keys(examples)).toEqual(Object.keys(forms));
    for (const [name, { value }] of Object.entries<Json>(examples)) {
      const form = forms[name as FormName];
      const { form: selected = name, ...fields } = value;
      expect(findForm(selected)).toBe(form);
      expect(validate(form, fields)).toEqual({ kind: 'valid', fields });
    }
  });

  test('of the form routes may be JSON, urlencoded or multipart', () => {
    for (const path of ['/api/leads', '/api/subscribe']) {
      const { content } = document.paths[path].post.requestBody;
      expect(Object.keys(content)).toEqual([
        'application/json',
        'application/x-www-form-urlencoded',
        'multipart/form-data',
      ]);
      expect(document.paths[path].post.responses).toHaveProperty('200');
      expect(document.paths[path].post.responses['303'].headers).toHaveProperty('Location');
    }
  });

  test('of an execution contain the statement, and its header parameters the Idempotency-Key', () => {
    expect(requestOf(EXECUTE).examples.confirmed.value).toMatchObject({
      confirmation: true,
      confirmation_text: CONFIRMATION_STATEMENT,
    });
    const { parameters } = document.paths[EXECUTE].post;
    const key = parameters.find((each: Json) => each.name === 'Idempotency-Key');
    expect(key).toMatchObject({ in: 'header', required: true, schema: { maxLength: 200 } });
  });

  test('contain a link from preview to execute that does not fill in the user’s confirmation', () => {
    const { execute } = document.paths[PREVIEW].post.responses['200'].links;
    expect(execute.operationId).toBe(document.paths[EXECUTE].post.operationId);
    expect(execute.requestBody).toEqual({
      preview_id: '$response.body#/preview_id',
      confirmation_text: '$response.body#/confirmation_statement',
    });
    expect(document.paths[EXECUTE].post['x-openai-isConsequential']).toBe(true);
  });
});

describe('OpenAPI failures', () => {
  test('contain each problem of the failure catalogue at exactly the operations that return it', () => {
    const everywhere = everyOperation(document.paths).map(({ operation }) => operation.operationId);
    const documented = Map.groupBy(everyFailure(), (failure) => failure.name);
    for (const [kind, { operations }] of Object.entries<Problem>(problems)) {
      const found = (documented.get(kind) ?? []).map((failure) => failure.operationId);
      // This document leaves out the tools and the person's pages.
      const wanted = operations === 'any' ? everywhere : operations.filter((name) => everywhere.includes(name));
      expect(found.sort(), kind).toEqual([...wanted].sort());
    }
    expect(problems.notFound.operations).toEqual([]);
    expect(problems.methodNotAllowed.operations).toEqual([]);
  });

  test.each([
    [PREVIEW, ['invalidFields']],
    [
      EXECUTE,
      [
        'otherAction',
        'notConfirmed',
        'upstreamRejected',
        'upstreamRateLimited',
        'upstreamUnconfirmed',
        'confirmationPending',
        'humanConfirmationRequired',
        'replayOfFailed',
      ],
    ],
    ['/api/agent/confirmations', ['viaNotValid', 'codesNotConfigured', 'tooManyPending']],
    ['/api/leads', ['notText', 'fileUpload', 'tooManyFields', 'nameTooLong', 'valueTooLong']],
    ['/api/subscribe', ['missingConsent', 'subscriptionNotKept']],
    ['/api/agent/content', ['unknownResource']],
    ['/api/agent/receipts/{action_id}', ['unknownReceipt']],
  ])('that only %s returns are documented only there', (path, expected) => {
    const paths = Map.groupBy(everyFailure(), (failure) => failure.name);
    const alone = [...paths].filter(([, all]) => all.length === 1 && all[0]?.path === path);
    expect(alone.map(([name]) => name).sort()).toEqual([...expected].sort());
  });

  test('are all in the failure catalogue, with the same status and sentence', () => {
    for (const { name, status, body } of everyFailure()) {
      if (BESIDE_THE_CATALOGUE.includes(name)) continue;
      expect(Object.keys(problems)).toContain(name);
      const problem: Problem = problems[name as keyof typeof problems];
      const native = name === 'valueTooLong' ? 400 : problem.status;
      expect(status, name).toBe(native === 0 ? '4XX' : String(native));
      // Invalid fields have one sentence each (see the next test).
      if (['invalidFields', 'invalidForm'].includes(name)) continue;
      expect(body.error.replace(/(?<=wait )\d+ seconds?/i, '{wait}')).toBe(problem.error);
    }
  });

  test('contain the members beside `error` that the reference specifies', () => {
    const found = (name: string, tag: string) =>
      everyFailure().find((failure) => failure.name === name && failure.tag === tag)?.body;
    expect(found('inProgress', 'Actions')).toMatchObject({ retryable: true });
    expect(found('invalidForm', 'Forms')).toEqual({
      error: 'email is missing.',
      fields: ['email'],
    });
    expect(found('invalidFields', 'Actions').error).toBe('email is not a valid e-mail address.');
    expect(found('missingConsent', 'Forms').fields).toEqual(['privacy']);
    expect(found('rateLimited', 'Forms').retry_after).toBe(30);
    expect(found('upstreamRejected', 'Actions').receipt.status).toBe('failed');
    expect(found('replayOfFailed', 'Actions').replay).toBe(true);
  });

  test.each([
    [PREVIEW, '401', 'WWW-Authenticate'],
    [PREVIEW, '403', 'WWW-Authenticate'],
    [PREVIEW, '429', 'Retry-After'],
    [EXECUTE, '409', 'Retry-After'],
    [EXECUTE, '429', 'RateLimit'],
    [EXECUTE, '502', 'Idempotent-Replayed'],
    [EXECUTE, '503', 'Retry-After'],
    [EXECUTE, '200', 'Idempotent-Replayed'],
    [EXECUTE, '4XX', 'Cache-Control'],
    ['/api/leads', '429', 'Retry-After'],
    ['/api/subscribe', '400', 'RateLimit-Policy'],
    ['/api/subscribe', '503', 'Retry-After'],
    ...['200', '303', '502'].map((status) => ['/api/leads', status, 'Submission-Reference']),
  ])('%s with status %s declares the header %s', (path, status, header) => {
    const { headers } = document.paths[path].post.responses[status];
    expect(headers).toHaveProperty(header);
    expect(headers).toHaveProperty('X-Request-Id');
  });
});

test('OpenAPI: a subscription has no Submission-Reference, which would reveal an earlier one (reference §9.8)', () => {
  const { responses } = document.paths['/api/subscribe'].post;
  expect(JSON.stringify(responses)).not.toMatch(/submission-reference/i);
});

describe('OpenAPI webhooks', () => {
  test('are the event types, with an example of each form', () => {
    expect(Object.keys(document.webhooks).sort()).toEqual([
      'lead.created',
      'subscriber.confirmed',
      'subscriber.created',
      'subscriber.unsubscribed',
    ]);
    for (const form of Object.values(forms)) {
      const { post } = document.webhooks[form.event];
      const { data } = post.requestBody.content['application/json'].examples[form.name].value;
      expect(data.form).toBe(form.name);
      expect(data.recipient === null).toBe(form.receivedBy === 'operator');
      const names = post.parameters.map((each: Json) => each.name);
      expect(names).toContain('webhook-id');
      expect(names).toContain('idempotency-key');
    }
  });

  test('have a schema that rejects events with a wrong type, recipient, origin or field', () => {
    const { schema, examples } = eventBody('lead.created');
    const event = z.fromJSONSchema(inline(schema));
    const { value } = examples.homeowner_quote;
    expect(event.safeParse(value).success).toBe(true);
    const strangers = [
      { ...value, type: 'subscriber.created' },
      { ...value, data: { ...value.data, recipient: null } },
      { ...value, data: { ...value.data, origin: 'elsewhere' } },
      { ...value, data: { ...value.data, fields: { ...value.data.fields, unknown: 'x' } } },
      { ...value, data: { ...value.data, fields: { email: value.data.fields.email } } },
    ];
    for (const stranger of strangers) expect(event.safeParse(stranger).success).toBe(false);
  });
});

function everyOperation(
  within: Json = { ...document.paths, ...document.webhooks },
): { path: string; operation: Json }[] {
  return Object.entries<Json>(within).flatMap(([path, methods]) =>
    Object.values<Json>(methods).map((operation) => ({ path, operation })),
  );
}

/** Returns each example body of each 4xx and 5xx answer. */
function everyFailure(): {
  path: string;
  operationId: string;
  name: string;
  status: string;
  tag: string;
  body: Json;
}[] {
  return everyOperation(document.paths).flatMap(({ path, operation }) =>
    Object.entries<Json>(operation.responses)
      .filter(([status]) => /^[45]/.test(status))
      .flatMap(([status, { content }]) =>
        Object.entries<Json>(content['application/json'].examples).map(([name, { value }]) => ({
          path,
          operationId: operation.operationId,
          name,
          status,
          tag: operation.tags[0],
          body: value,
        })),
      ),
  );
}

function requestOf(path: string): Json {
  return document.paths[path].post.requestBody.content['application/json'];
}

function eventBody(type: string): Json {
  return document.webhooks[type].post.requestBody.content['application/json'];
}

/** Returns every value with a wanted key, at any depth. */
function collect(value: Json, isWanted: (key: string) => boolean): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    isWanted(key) ? [inner, ...collect(inner, isWanted)] : collect(inner, isWanted),
  );
}

function resolve(reference: string): Json {
  return reference
    .slice(2)
    .split('/')
    .reduce((inside: Json, key) => inside?.[key], document);
}

/** Returns the schema with its references resolved. */
function inline(schema: Json): Json {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(inline);
  if (schema.$ref !== undefined) return inline(resolve(schema.$ref));
  return Object.fromEntries(Object.entries(schema).map(([key, inner]) => [key, inline(inner)]));
}
