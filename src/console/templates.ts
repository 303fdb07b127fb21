/** The templates of the console, read and compiled by the first who needs one; interpolations are escaped. */
import { readFileSync } from 'node:fs';
import { Eta } from 'eta';
import { once } from '../once.ts';
import type { Route } from '../route-groups.ts';
import { type ConsoleRoute, pathTo, routes } from '../routes.ts';

const names = [
  'layout',
  'message',
  'sign-in',
  'signed-out',
  'overview',
  'leads',
  'lead',
  'audit',
  'subscribers',
  'person',
  'person-delete',
  'confirmations',
  'messages',
  'agents',
] as const;

const loadTemplates = once(() => {
  const eta = new Eta();
  for (const name of names) {
    const file = new URL(`templates/${name}.eta`, import.meta.url);
    eta.loadTemplate(`@${name}`, readFileSync(file, 'utf8'));
  }
  return eta;
});

/** The address of a page behind the session. */
export function pathOfPage(name: ConsoleRoute, values: Record<string, string> = {}): string {
  return pathTo(routes[name] as Route, values);
}

/** Takes a template's name and what it reads as `it`, beside `pathOf`; returns the HTML. */
export function render(name: (typeof names)[number], data: object): string {
  return loadTemplates().render(`@${name}`, { ...data, pathOf: pathOfPage });
}
