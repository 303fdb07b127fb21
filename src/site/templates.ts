/** The Eta templates, read and compiled once; interpolations are escaped by default. */
import { readFileSync } from 'node:fs';
import { Eta } from 'eta';
import { once } from '../once.ts';
import { pages, routes } from '../routes.ts';

const names = [
  'layout',
  'page',
  'form',
  'notice',
  'error',
  'flow',
  'confirm',
  'confirm-end',
  'newsletter',
  'contractor',
  'sent',
  'code',
  'contents',
] as const;

/** Where every template may lead. */
const paths = {
  start: routes.startPage.path,
  llmsText: routes.getLlmsText.path,
  privacy: pages.privacy.path,
  thankYou: pages.thankYou.path,
};

/** Compiles them, where nothing has yet. */
export const loadTemplates = once(() => {
  const eta = new Eta();
  for (const name of names) {
    const file = new URL(`templates/${name}.eta`, import.meta.url);
    eta.loadTemplate(`@${name}`, readFileSync(file, 'utf8'));
  }
  return eta;
});

/** Takes a template's name and what it reads as `it`, beside the paths; returns the HTML. */
export function renderTemplate(name: (typeof names)[number], data: object): string {
  return loadTemplates().render(`@${name}`, { ...data, paths });
}
