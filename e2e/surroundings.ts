import { inTurn } from '../test/support/in-turn.ts';
import type { Surroundings } from './browser.ts';

const widths = [360, 768, 1280];
const schemes = ['light', 'dark'] as const;

/** Every width, colour scheme, with JavaScript and without: by what a test's name says of them. */
export const everySurroundings: [string, Surroundings][] = widths.flatMap((width) =>
  schemes.flatMap((scheme) =>
    [true, false].map((javaScript): [string, Surroundings] => [
      `${width} px, ${scheme}, ${javaScript ? 'with' : 'without'} JavaScript`,
      { width, scheme, javaScript },
    ]),
  ),
);

/** The same where each is a whole story: CI tells it in a third of them for each state of the tree. */
export const surroundingsInTurn = inTurn(everySurroundings, 3);
