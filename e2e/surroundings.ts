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
