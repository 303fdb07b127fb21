import { describe, expect, test } from 'vitest';
import { pageOfForm, returnPage } from '../../src/console/return-page.ts';

const ID = '0190a000-0000-7000-8000-00000000abcd';

describe('returnPage', () => {
  test.each([
    '/operator',
    '/operator/leads',
    '/operator/leads?q=Ada+L%C3%B6ve&progress=new',
    `/operator/leads/${ID}?q=a`,
    `/operator/people/${ID}?delete=ask`,
    '/operator/audit?cursor=x',
    `/operator/leads?q=${'a'.repeat(1_982)}`,
  ])('accepts the page %s', (page) => {
    expect(returnPage(page)).toBe(page);
  });

  test.each([
    null,
    undefined,
    '',
    '/',
    'operator',
    '/operator/',
    '/operatorx',
    '/operator/nothing',
    '/operator/leads/',
    '/operator/leads/a/b',
    '/operator/leads.csv',
    '/operator/subscribers.csv?status=all',
    '/operator/leads.jsonl?q=a',
    `/operator/people/${ID}?export=jsonl`,
    `/operator/people/${ID}?a=1&%65xport`,
    '/operator/sign-in',
    '//operator',
    '//evil.example/operator',
    'https://evil.example/operator',
    '/\\evil.example',
    '/operator/leads?q=a#b',
    '/operator/leads?q=a b',
    '/operator/leads?q=a\r\nSet-Cookie: a=b',
    '/operator\n',
    `/operator/leads?q=${'a'.repeat(1_983)}`,
    '/operator/leads/new?after=1',
    '/operator/sign-out',
    '/operator/leads/a.b',
    '/operator/leads/.a',
    '/operator/leads?q=\u00e9a',
    '/operator/leads?\u00e9',
    '/operator?a\u00e9',
    '/operator/leads/../../evil',
    '/operator/leads/%2e%2e',
  ])('returns undefined for the page %j', (page) => {
    expect(returnPage(page)).toBeUndefined();
  });
});

describe('pageOfForm', () => {
  test.each([
    ['/operator/leads.csv', 'q=a&status=waiting', '/operator/leads?q=a&status=waiting'],
    ['/operator/subscribers.csv', '', '/operator/subscribers'],
    [`/operator/people/${ID}`, 'export=jsonl', `/operator/people/${ID}`],
    [`/operator/people/${ID}`, 'export=jsonl&a=b', `/operator/people/${ID}?a=b`],
    [`/operator/leads/${ID}/note`, 'q=a', `/operator/leads/${ID}?q=a`],
    ['/operator/leads/progress/x', '', '/operator/leads/progress'],
    ['/operator/leads.csv', `q=${'a'.repeat(2_000)}`, '/operator/leads'],
    ['/operator/x.y/z', '', '/operator'],
    ['/other/leads', 'q=a', '/operator'],
    ['', 'q=a', '/operator'],
  ])('returns the page above %s with the query %j', (path, query, page) => {
    expect(pageOfForm(path, new URLSearchParams(query))).toBe(page);
  });
});
