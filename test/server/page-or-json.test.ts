/** Which addresses belong to forms, agents and documents, and what their answers vary with (reference §3.11, §18.5). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasProblemDetails, isRead, pathOf } from '../../src/server/page-or-json.ts';
import { call } from '../support/agent.ts';
import { type Service, startService } from '../support/service.ts';

test.each([
  [undefined, '/'],
  ['', '/'],
  ['?a=b', '/'],
  ['/a%20b?c#d', '/a b'],
  ['/a#b?c', '/a'],
  ['/%ff', '/%ff'],
  ['http://x.example/a?b', '/a'],
  ['HTTPS://x.example', '/'],
  ['/see/http://x.example/a', '/see/http://x.example/a'],
])('pathOf reads the path of %j', (url, path) => {
  expect(pathOf(url)).toBe(path);
});

test('isRead accepts only GET and HEAD', () => {
  expect(['GET', 'HEAD', 'POST', 'OPTIONS', undefined].filter(isRead)).toEqual(['GET', 'HEAD']);
});

test.each([
  ['/api/leads', true],
  ['/api/subscribe', true],
  ['/api/agent/actions', true],
  ['/api/agent/actions/contact/preview', true],
  ['/api/agent', false],
  ['/api/agent/actionsx', false],
  ['/api/lead', false],
  ['/x/api/agent/actions', false],
  ['/', false],
])('hasProblemDetails returns the right value for %s', (path, value) => {
  expect(hasProblemDetails(path)).toBe(value);
});

describe('Vary', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.close());

  test.each([
    ['GET', '/api/leads', 405, 'Accept'],
    ['GET', '/api/agent/actions/x/y', 404, 'Accept'],
    ['OPTIONS', '/api/agent/actions/x/y', 404, 'Accept, Origin'],
    ['GET', '/nothing', 404, null],
    ['OPTIONS', '/nothing', 404, 'Origin'],
  ])('of %s %s (%i) is %s', async (method, path, status, vary) => {
    const answer = await call(service, path, { method });
    expect([answer.status, answer.headers.get('vary')]).toEqual([status, vary]);
  });
});
