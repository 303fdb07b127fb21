import { inTurn } from '../test/support/in-turn.ts';
import type { Surroundings } from './browser.ts';

const widths = [360, 768, 1280];
const schemes = ['light', 'dark'] as const;

/** Every combination of width, colour scheme and JavaScript, with its name in the tests. */
export const everySurroundings: [string, Surroundings][] = widths.flatMap((width) =>
  schemes.flatMap((scheme) =>
    [true, false].map((javaScript): [string, Surroundings] => [
      `${width} px, ${scheme}, ${javaScript ? 'with' : 'without'} JavaScript`,
      { width, scheme, javaScript },
    ]),
  ),
);

/** The same for tests of a whole story. CI runs a fifth of them for each state of the tree, at two or three widths. */
export const surroundingsInTurn = inTurn(everySurroundings, 5);
