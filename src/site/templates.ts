/** The Eta templates, read and compiled once at start; interpolations are escaped by default. */
import { readFileSync } from 'node:fs';
import { Eta } from 'eta';

const names = ['layout', 'page', 'form', 'notice', 'error', 'flow'] as const;

const eta = new Eta();
for (const name of names) {
  eta.loadTemplate(
    `@${name}`,
    readFileSync(new URL(`templates/${name}.eta`, import.meta.url), 'utf8'),
  );
}

/** Takes a template's name and what it reads as `it`; returns the HTML. */
export function renderTemplate(name: (typeof names)[number], data: object): string {
  return eta.render(`@${name}`, data);
}
