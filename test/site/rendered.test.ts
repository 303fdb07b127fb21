/**
 * The markup of pages in all their states. A change of a template or a text shows in the difference of a commit. After
 * a change, run `npm test -- test/site/rendered.test.ts -u` and read the difference.
 */
import { expect, test } from 'vitest';
import { renderedPages } from './rendered-pages.ts';

test.each(renderedPages())('%s has the recorded markup', async (name, text) => {
  await expect(text).toMatchFileSnapshot(`rendered/${name}`);
});
