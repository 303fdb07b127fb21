/** The Eta templates, compiled when this module loads. The templates escape interpolated values. */
import { readdirSync, readFileSync } from 'node:fs';
import { Eta } from 'eta';
import { projectFile } from '../project.ts';
import { pages, routes } from '../routes.ts';

/** Paths for links in all templates. */
const paths = {
  start: routes.startPage.path,
  llmsText: routes.getLlmsText.path,
  privacy: pages.privacy.path,
  thankYou: pages.thankYou.path,
};

const eta = new Eta();
const folder = projectFile('src/site/templates/');
for (const file of readdirSync(folder)) {
  eta.loadTemplate(`@${file}`, readFileSync(new URL(file, folder), 'utf8'));
}

/** Renders a template, which reads data and paths as `it`. */
export function renderTemplate(name: string, data: object): string {
  return eta.render(`@${name}.eta`, { ...data, paths });
}
