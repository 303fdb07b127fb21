/** The templates of the console, read and compiled once, and the frame of every page. Templates escape every value. */
import { readdirSync, readFileSync } from 'node:fs';
import { Eta } from 'eta';
import { projectFile } from '../project.ts';
import type { Route } from '../route-groups.ts';
import { type ConsoleRoute, pathTo, routes } from '../routes.ts';
import type { ConsoleParts } from './page.ts';

const eta = new Eta();
const folder = projectFile('src/console/templates/');
for (const file of readdirSync(folder)) {
  eta.loadTemplate(`@${file}`, readFileSync(new URL(file, folder), 'utf8'));
}

/** Returns the address of a page behind the session. */
export function pathOfPage(name: ConsoleRoute, values: Record<string, string> = {}): string {
  return pathTo(routes[name] as Route, values);
}

/** Returns the HTML of a template. The template reads `data`, `pathOf` and `signInPath` as members of `it`. */
export function render(name: string, data: object): string {
  return eta.render(`@${name}.eta`, { ...data, pathOf: pathOfPage, signInPath: routes.signInForm.path });
}

/** The result of the last change. `undo` names the change for the button "Undo". */
export type ShownResult = { text: string; undo: string | undefined; here: string };

/** The links at the top of every page (reference §12.5). */
const navigation: readonly [ConsoleRoute, string][] = [
  ['operatorPage', 'Overview'],
  ['operatorLeads', 'Leads'],
  ['operatorAgents', 'Agents'],
  ['operatorConnections', 'Connections'],
  ['operatorConfirmations', 'Confirmations'],
  ['operatorSubscribers', 'Subscribers'],
  ['operatorMessages', 'Messages'],
  ['operatorAudit', 'Audit'],
];

/**
 * Returns the whole HTML document. `main` is HTML, `name` is the operator who is signed in, if there is one. `path` is
 * the path of this page.
 */
export function consoleLayout(
  { frame, settings }: ConsoleParts,
  shown: {
    title: string;
    main: string;
    name?: string | undefined;
    path?: string | undefined;
    result?: ShownResult | undefined;
  },
): string {
  const { stylesheetPath, iconPath, iconType } = frame();
  const links = navigation.map(([route, label]) => {
    const href = pathOfPage(route);
    const isHere = shown.path === href;
    const isAbove = !isHere && href !== routes.operatorPage.path && shown.path?.startsWith(`${href}/`);
    return { href, label, current: isHere ? 'page' : isAbove ? 'true' : undefined };
  });
  return render('layout', {
    ...shown,
    links,
    operatorName: settings.operator.name,
    stylesheetPath,
    ownStylesheetPath: routes.operatorStylesheet.path,
    scriptPath: routes.operatorScript.path,
    iconPath,
    iconType,
  });
}
