import { expect, test } from 'vitest';
import { renderErrorPage } from '../../src/site/error-page.ts';

test('an error page shows a heading, the sentence, the link back to the form and the operator’s contact', () => {
  const html = renderErrorPage({
    status: 502,
    sentence: 'We could not confirm that it arrived.',
    backTo: '/quote',
    operatorContact: 'help@paint.example',
    operatorName: 'Fair Coat',
  });
  expect(html).toContain('<h1>Your details may not have arrived</h1>');
  expect(html).toContain('We could not confirm that it arrived.');
  expect(html).toContain('href="/quote">Back to the form</a>');
  expect(html).toContain('<a href="mailto:help@paint.example"><bdi>help@paint.example</bdi></a>');
  expect(html).toContain('· Fair Coat</title>');
});

test('an error page links to the start page if there is no form, and shows no contact if no contact is set', () => {
  const html = renderErrorPage({ status: 404, sentence: 'There is nothing at this address.' });
  expect(html).toContain('href="/">To the start page</a>');
  expect(html).toContain('· Service</title>');
  expect(html).not.toMatch(/Back to the form|mailto:|tel:/);
});

test('an error page refers to the browser’s back button and shows no button if the browser still has the input', () => {
  const page = { status: 500, sentence: 'We logged the error.', typed: true };
  for (const backTo of ['/quote', undefined]) {
    const html = renderErrorPage({ ...page, ...(backTo === undefined ? {} : { backTo }) });
    expect(html).toContain('browser’s back button');
    expect(html).not.toMatch(/class="button"|Back to the form/);
  }
});

test('an error page shows a general heading for status 500', () => {
  expect(renderErrorPage({ status: 500, sentence: 'We logged the error.' })).toContain('<h1>Something went wrong</h1>');
});

test('an error page escapes every value and has noindex', () => {
  const html = renderErrorPage({
    status: 400,
    sentence: '<script>1</script>',
    backTo: '/"><b>',
    operatorContact: `"'<b>@paint.example`,
    operatorName: '<b>Co</b>',
  });
  expect(html).not.toMatch(/<script|<b>/);
  expect(html).toContain('&lt;script&gt;1&lt;/script&gt;');
  expect(html).toContain('<bdi>&quot;&#39;&lt;b&gt;@paint.example</bdi>');
  expect(html).toContain('<meta name="robots" content="noindex">');
});
