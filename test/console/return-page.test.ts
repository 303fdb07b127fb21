import { describe, expect, test } from 'vitest';
import { returnPage } from '../../src/console/return-page.ts';

const ID = '0190a000-0000-7000-8000-00000000abcd';

describe('returnPage', () => {
  test.each([
    '/operator',
    '/operator/leads',
    '/operator/leads?q=Ada+L%C3%B6ve&progress=new',
    `/operator/leads/${ID}?q=a`,
    `/operator/people/${ID}?delete=ask`,
    '/operator/audit?cursor=x',
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
    `/operator/leads?q=${'a'.repeat(2_000)}`,
    '/operator/leads/../../evil',
    '/operator/leads/%2e%2e',
  ])('returns undefined for the page %j', (page) => {
    expect(returnPage(page)).toBeUndefined();
  });
});
