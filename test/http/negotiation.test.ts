import { expect, test } from 'vitest';
import { namesProblemDetails, prefersMarkdown } from '../../src/http/negotiation.ts';

const CHROMIUM = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

test.each([
  'text/markdown',
  'TEXT/Markdown',
  'text/markdown;charset=utf-8',
  'text/markdown, text/html;q=0.9',
  'text/html;q=0.5,text/markdown;q=0.9',
  'text/markdown, text/html, */*',
  'text/html, text/markdown',
  'text/markdown, */*',
  'text/markdown;q=0.5, */*;q=0.1',
  'text/html;q=0, */*',
  'text/html;q=0.1, text/*',
  'text/markdown;q=1;q=0.1, text/html',
  'text/markdown;q=1.000;q=0.1, text/html',
])('prefersMarkdown returns true for %s', (accept) => {
  expect(prefersMarkdown(accept)).toBe(true);
});

test.each([
  undefined,
  '',
  ' ',
  '*/*',
  'text/*',
  'text/html',
  CHROMIUM,
  'text/html, text/markdown;q=0.9',
  'text/markdown;q=0',
  'text/markdown;q=0.000, */*',
  'text/markdown;q=0.1, text/html',
  'text/markdown;q=0.5, */*',
  'text/markdown;q=0.5, text/*',
  'text/markdown ; q = 0.1 ; x=1, text/html',
  'text/*;q=0, */*',
  'a text/markdown',
  'text/markdown a',
  'application/json',
  'text/markdownish',
  'text/plain',
  ',;/,',
])('prefersMarkdown returns false for %s', (accept) => {
  expect(prefersMarkdown(accept)).toBe(false);
});

test.each([
  'application/problem+json',
  'Application/Problem+JSON;q=0.1',
  'text/html, application/problem+json',
  'application/problem+json;q=0.001, */*',
])('namesProblemDetails returns true for %s', (accept) => {
  expect(namesProblemDetails(accept)).toBe(true);
});

test.each([
  undefined,
  '',
  '*/*',
  'application/*',
  'application/json',
  'text/problem+json',
  'application/problem+json;q=0, */*',
])('namesProblemDetails returns false for %j', (accept) => {
  expect(namesProblemDetails(accept)).toBe(false);
});
