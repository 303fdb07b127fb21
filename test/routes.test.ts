import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { SyntaxKind } from 'typescript/unstable/ast';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SKILL } from '../src/discovery/model-texts.ts';
import type { Route } from '../src/route-groups.ts';
import { at, folders, pages, pathsOf, pathsOfPage, pathTo, routes } from '../src/routes.ts';
import { eventTypes } from '../src/submissions/events.ts';
import { freePort } from './support/free-port.ts';
import { type Service, startService } from './support/service.ts';
import { nodesOfSource } from './support/syntax.ts';

const everyRoute: Route[] = Object.values(routes);

describe('list of routes', () => {
  let service: Service;
  const registered: RouteOptions[] = [];

  /** Records every route, because Fastify announces each application before it has one. */
  const listen = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook('onRoute', (route) => void registered.push(route));
  };

  beforeAll(async () => {
    subscribe('fastify.initialization', listen);
    service = await startService({
      environment: {
        NODE_ENV: 'test', // the console is on
        OPERATOR_CONTACT: 'help@paint.example',
        METRICS_PORT: String(await freePort()),
      },
    });
    unsubscribe('fastify.initialization', listen);
  });
  afterAll(() => service.close());

  const served = () =>
    registered
      .flatMap(({ method, url }) => [method].flat().map((each) => ({ method: each, url })))
      // A HEAD comes with its GET. Preflights are possible for any path.
      .filter(({ method, url }) => method !== 'HEAD' && url !== '*')
      .map(({ method, url }) => `${method} ${url}`);

  /** Returns each row, once for every value of its parameter. The router fills an action itself. */
  const listed = () => {
    const { parts } = service;
    const others = parts.pageNames.filter((name) => name !== 'index');
    const many: Partial<Record<keyof typeof routes, string[]>> = {
      eventSchema: eventTypes.map((type) => at(routes.eventSchema, { type }).url),
      page: others.map((name) => pathsOfPage(name).path),
      mirror: parts.pageNames.map((name) => pathsOfPage(name).markdownPath),
      asset: parts.assets.map(({ path }) => path),
      skill: [at(routes.skill, { skill: SKILL }).url],
      metrics: [],
    };
    return Object.entries<Route>(routes).flatMap(([name, { method, path }]) =>
      (many[name as keyof typeof routes] ?? [path]).map((each) => `${method} ${each}`),
    );
  };

  test('contains exactly the routes that the application serves', () => {
    expect(served().sort()).toEqual(listed().sort());
  });

  test('contains the path of the metrics, which only the metrics port serves', async () => {
    const url = `http://127.0.0.1:${service.settings.metricsPort}${routes.metrics.path}`;
    expect((await fetch(url)).status).toBe(200);
    expect((await fetch(service.url + routes.metrics.path)).status).toBe(404);
  });

  test('gives Fastify no schema, so that Fastify changes no answer', () => {
    const schemas = registered.filter(({ url }) => url !== '*').map(({ schema }) => schema);
    expect(new Set(schemas)).toEqual(new Set([undefined]));
  });

  test('contains each combination of path and method once', () => {
    const all = everyRoute.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(all).size).toBe(all.length);
  });

  test('separates the paths of the API from the paths of pages', () => {
    const documents = pathsOf('discovery');
    for (const path of pathsOf('definitions')) {
      expect(
        folders.discovery.some((folder) => path.startsWith(folder)),
        path,
      ).toBe(true);
    }
    for (const path of [...pathsOf('pages'), ...pathsOf('health')]) {
      expect(documents.has(path), path).toBe(false);
      expect([folders.api, ...folders.discovery].some((each) => path.startsWith(each))).toBe(false);
    }
  });

  test('fills the parameters of a path and names a missing one in the error', () => {
    expect(pathTo(routes.skill, { skill: SKILL })).toBe('/.well-known/agent-skills/send-a-form/SKILL.md');
    expect(() => pathTo(routes.skill, {})).toThrow('needs a value for skill');
  });
});

/** Returns the paths in a text. A path begins the text, continues it, or equals the start of a route. */
function pathsIn(text: string, afterSomething: boolean): string[] {
  const opening = afterSomething ? /^\/[a-z.]\S*/.exec(text) : /^\/[a-z.]\S*$/.exec(text);
  const named = stems.filter((stem) => {
    const at = text.indexOf(stem);
    return at >= 0 && !/[\w./]/.test(text[at - 1] ?? ' ') && !/\w/.test(text[at + stem.length] ?? '');
  });
  return [...(opening ?? []), ...named];
}

/** Texts that occur in no other text: the part of each path before its parameter, and linked pages. */
const stems = [...everyRoute, ...Object.values(pages)]
  .map(({ path }) => path.replace(/\/?:.*$/, ''))
  .filter((stem) => stem.length > 1);

const TEXTS = [SyntaxKind.StringLiteral, SyntaxKind.NoSubstitutionTemplateLiteral, SyntaxKind.TemplateHead];
const CONTINUATIONS = [SyntaxKind.TemplateMiddle, SyntaxKind.TemplateTail];

describe('paths outside src/routes.ts', () => {
  test.each([
    ['/healthz', false, true],
    ['/a-new-endpoint', false, true],
    ['/', false, false],
    ['GET /agents says how.', false, true],
    ['POST to /api/agent/actions/{action}/preview.', false, true],
    ['/subscribers', true, true],
    ['../site/agents.ts', false, false],
    ['text/html', false, false],
    ['https://schemas.example/a', false, false],
    ['/', true, false],
    [' / second', true, false],
  ])('are recognized in the text %s (after a placeholder: %s): %s', (text, afterSomething, isPath) => {
    expect(pathsIn(text, afterSomething).length > 0).toBe(isPath);
  });

  test('occur in no other TypeScript file of src', () => {
    const found = [
      ...nodesOfSource(...TEXTS).map((each) => ({ ...each, after: false })),
      ...nodesOfSource(...CONTINUATIONS).map((each) => ({ ...each, after: true })),
    ].flatMap(({ path, text, after }) => {
      const inner = text.replace(/^['"`}]/, '').replace(/(\$\{|['"`])$/, '');
      return pathsIn(inner, after).map((each) => `${path}: ${each}`);
    });
    expect(found.filter((each) => !each.startsWith('src/routes.ts: '))).toEqual([]);
    expect(found.length).toBeGreaterThan(everyRoute.length);
  });

  test('occur in no template and no script of a page', () => {
    const folder = resolve(import.meta.dirname, '../src/site');
    const files = globSync(['templates/*.eta', 'assets/*.js', '../console/templates/*.eta'], {
      cwd: folder,
    });
    expect(files.length).toBeGreaterThan(4);
    const found = files.flatMap((file) => {
      const text = readFileSync(join(folder, file), 'utf8');
      return [...text.matchAll(/["'`](\/[a-z.]?[\w./-]*)["'`]/g)].map(([, path]) => [file, path]);
    });
    expect(found).toEqual([]);
  });
});
