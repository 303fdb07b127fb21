import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Problem, problems } from '../../src/failures/catalogue.ts';
import { codeOf } from '../../src/failures/codes.ts';
import { connectProblems } from '../../src/failures/oauth-problems.ts';
import { consoleProblems, newsletterProblems, pressProblems } from '../../src/failures/page-problems.ts';
import type { Refusal } from '../../src/failures/refusals.ts';
import { forms } from '../../src/forms/catalog.ts';
import { documentationRules } from '../../src/site/assets.ts';
import { defaultFrame } from '../../src/site/layout.ts';
import { call } from '../support/agent.ts';
import { ranToTheEnd } from '../support/ran.ts';
import { type Service, startService } from '../support/service.ts';

// biome-ignore lint/suspicious/noExplicitAny: a document is walked by name, whatever it holds
type Json = any;

const onPages = { ...pressProblems, ...consoleProblems, ...newsletterProblems, ...connectProblems };

let service: Service;
let html: string;
let markdown: string;
let openapi: Json;
beforeAll(async () => {
  service = await startService();
  const get = (path: string) => call(service, path, { method: 'GET' });
  html = (await get('/reference')).text;
  markdown = (await get('/reference.md')).text;
  openapi = (await get('/openapi.json')).body;
});
afterAll(() => service.close());

const operations = (): { where: string; operation: Json }[] =>
  Object.entries<Json>(openapi.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]) => ({
      where: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );

/** Returns the text under a heading, up to the next one of its level or a higher one. */
function under(heading: string): string {
  const from = markdown.indexOf(`${heading}\n`);
  const level = heading.indexOf(' ');
  const rest = markdown.slice(from + heading.length);
  const to = rest.search(new RegExp(`^#{1,${level}} `, 'm'));
  return from < 0 ? '' : rest.slice(0, to < 0 ? undefined : to);
}

describe('API reference', () => {
  test('describes every call of OpenAPI with parameters, scopes and an example body', () => {
    expect(operations().length).toBeGreaterThan(8);
    for (const { where, operation } of operations()) {
      const text = under(`### ${operation.summary}`);
      expect(text, where).toContain(`\`${where}\` · \`${operation.operationId}\``);
      expect(text).toContain(operation.description);
      for (const { name } of operation.parameters ?? []) expect(text).toContain(`| \`${name}\` |`);
      for (const scopes of operation.security.flatMap(Object.values)) {
        for (const scope of scopes) expect(text).toContain(`scope \`${scope}\``);
      }
      const [body] = Object.values<Json>(operation.requestBody?.content ?? {});
      const [example] = Object.values<Json>(body?.examples ?? {});
      if (example) expect(text).toContain(JSON.stringify(example.value, null, 2));
    }
  });

  test('lists every error once, either at its call or among the errors that any call may return', () => {
    const common = under('## Errors that any call may answer');
    for (const { operation } of operations()) {
      const text = under(`### ${operation.summary}`);
      for (const [status, { content }] of Object.entries<Json>(operation.responses)) {
        const examples = Object.entries<Json>(content?.['application/json']?.examples ?? {});
        for (const [kind, { value }] of examples.filter(([name]) => name in problems)) {
          const code = codeOf(kind as Refusal['kind']);
          const row = `| ${status} | [\`${code}\`](#problem-${code}) | ${value.error} |`;
          const places = [text, common].filter((place) => place.includes(row));
          expect(places, `${operation.operationId} ${row}`).toHaveLength(1);
        }
      }
    }
    expect(common).toContain(problems.shuttingDown.error);
    expect(common).not.toContain(problems.rateLimited.error);
  });

  test.each(Object.entries<Problem>(problems).filter(([kind]) => !(kind in onPages)))(
    'has a row for %s with its code, status, sentence and next step, at the anchor of the code',
    (kind, problem) => {
      const code = codeOf(kind as Refusal['kind']);
      const rows = under('## Error codes')
        .split('\n')
        .filter((line) => line.startsWith(`| [\`${code}\`]`));
      expect(rows).toHaveLength(1);
      const [, status, sentence, next] = (rows[0] ?? '').split(' | ');
      const wanted = problem.status === 0 ? 'other 4xx' : String(kind === 'valueTooLong' ? 400 : problem.status);
      expect([status, sentence]).toEqual([wanted, problem.sentence]);
      expect(next).toMatch(/^[A-Z].{10,} \|$/);
      expect(rows[0]).not.toContain('{wait}');
      expect(html.match(new RegExp(`<tr id="problem-${code}">`, 'g'))).toHaveLength(1);
    },
  );

  test('has no row for a refusal that only pages show', () => {
    for (const kind of Object.keys(onPages)) expect(html).not.toContain(`problem-${codeOf(kind as Refusal['kind'])}"`);
  });

  test('shows a command for problem details with its answer, and says what may change within a version', async () => {
    const text = under('## Error codes');
    const [, command = ''] = /```sh\n([\s\S]*?)```/.exec(text) ?? [];
    const child = spawn('sh', ['-c', command], { env: { PATH: process.env.PATH ?? '' } });
    const { stdout } = await ranToTheEnd(child);
    const [, shown = ''] = /```json answer 401\n([\s\S]*?)```/.exec(text) ?? [];
    expect(stdout).toMatch(/\}\n$/);
    const { request_id, ...answered } = JSON.parse(stdout);
    expect(request_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(JSON.parse(shown)).toMatchObject(answered);
    const versions = under('## Versions and changes');
    expect(versions).toContain(openapi.info.version);
    expect(versions).toMatch(/\| Date \| Change \|/);
  });

  test.each(Object.values(forms))('lists the fields of $name with their limits', (form) => {
    const title = form.name.replace(/(^|_)(\w)/g, (_, __, letter) => letter.toUpperCase());
    const text = under(`### ${title}Fields`);
    for (const field of form.fields) {
      expect(text).toContain(`| \`${field.name}\` | string`);
      expect(text).toMatch(new RegExp(`\`${field.name}\`.*at most ${field.maximum} characters`));
    }
  });

  test('describes every schema and every event', () => {
    for (const name of Object.keys(openapi.components.schemas)) {
      expect(under(`### ${name}`).length, name).toBeGreaterThan(20);
    }
    for (const type of Object.keys(openapi.webhooks)) {
      expect(under(`### Receive ${type}`)).toContain(`POST UPSTREAM_URL: ${type}`);
    }
  });

  test('is a page of the site with one h1, unique ids, and no styles and scripts except the site’s', () => {
    expect(html).toContain('<title>API reference · Paint Match</title>');
    expect(html.match(/<h1>/g)).toHaveLength(1);
    expect(html).toContain('<a class="skip" href="#main">');
    const rules = [defaultFrame().rules, documentationRules].map((each) => `<style>${each}</style>`);
    const withoutRules = rules.reduce((rest, ours) => rest.replace(ours, ''), html);
    expect(withoutRules.length).toBe(html.length - rules.join('').length);
    expect(withoutRules).not.toMatch(
      /<script(?! type="application\/ld\+json">| type="module" src="\/assets\/scroll-[0-9a-f]{12}\.js"><)|<style| style=| on\w+=|undefined/,
    );
    const ids = [...html.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('lists the calls in the order of the table of contents, with preview and execute first', () => {
    const headings = [...markdown.matchAll(/^### (.+)$/gm)].map(([, text]) => text);
    const overview = [...markdown.matchAll(/^\| `[A-Z]+ .*?\| \[(.+?)\]/gm)].map(([, text]) => text);
    expect(overview.length).toBeGreaterThan(15);
    expect(headings.slice(0, overview.length)).toEqual(overview);
    expect(overview.slice(0, 2)).toEqual(['Preview an action', 'Execute a confirmed action']);
    const [, side = ''] = /<nav class="contents"[\s\S]*?<div>([\s\S]*?)<\/nav>/.exec(html) ?? [];
    const listed = [...side.matchAll(/<a href="#[^"]+">([^<]+)</g)].map(([, text]) => text);
    const calls = new Set(overview);
    expect(listed.filter((text) => calls.has(text))).toEqual(overview);
  });

  test('has every anchor that other pages link to', async () => {
    const pages = await Promise.all(
      ['/agents', '/receivers', '/embed'].map((path) => call(service, path, { method: 'GET' })),
    );
    const places = pages.flatMap(({ text }) => [...text.matchAll(/href="\/reference#([^"]+)"/g)]);
    expect(places.length).toBeGreaterThan(2);
    for (const [, id] of places) expect(html).toContain(` id="${id}"`);
  });

  test('links only to existing anchors and addresses', async () => {
    const links = [...html.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href = '']) => href);
    const inside = links.filter((href) => href.startsWith('#'));
    expect(inside.length).toBeGreaterThan(30);
    for (const href of inside) expect(html, href).toContain(` id="${href.slice(1)}"`);
    for (const href of new Set(links.filter((each) => each.startsWith('/')))) {
      expect((await call(service, href, { method: 'GET' })).status, href).toBe(200);
    }
  });
});

test('in OpenAPI, the first examples of the path and of the body of a preview are for the same action', () => {
  const { parameters, requestBody } = openapi.paths['/api/agent/actions/{action}/preview'].post;
  const [first] = Object.keys(requestBody.content['application/json'].examples);
  expect(parameters[0]).toMatchObject({ name: 'action', example: first });
});
