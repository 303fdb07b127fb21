/** Icons of the pages, as inline `<svg>`. */

/** Icons of 48 × 48 in the colour of the text. `soft` is fainter. */
const shapes = {
  /** A sheet with lines and a pencil. */
  form: '<path class="soft" d="M9 4h20l8 8v32H9z"/><path d="M29 4v8h8M15 19h14M15 26h10M9 4h20l8 8v8M19 44H9V4"/><path d="m24 38-2 7 7-2 14-14-5-5z"/>',
  /** A house with one arrow to it. */
  house:
    '<path class="soft" d="M20 22 33 11l13 11v21H20z"/><path d="M18 24 33 11l13 11v21H20v-8M29 43V32h8v11M2 30h17m-6-6 6 6-6 6"/>',
  /** A speech bubble. */
  answer: '<path class="soft" d="M6 8h36v25H23l-9 8v-8H6z"/><path d="M6 8h36v25H23l-9 8v-8H6zM14 17h20M14 24h13"/>',
  /** A tick in a circle. */
  tick: '<circle class="soft" cx="24" cy="24" r="21"/><circle cx="24" cy="24" r="21"/><path d="m14 25 7 7 13-15"/>',
} as const;

/** The icons as inline `<svg>`. Screen readers skip them, because the text beside each has the same meaning. */
export const icons = Object.fromEntries(
  Object.entries(shapes).map(([name, shape]) => [
    name,
    `<svg class="icon" viewBox="0 0 48 48" aria-hidden="true" focusable="false">${shape}</svg>`,
  ]),
) as Readonly<Record<keyof typeof shapes, string>>;
