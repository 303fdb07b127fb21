/** The frame around every page of the console: the site's look, with a navigation of its own. */
import type { ConsoleRefusal } from '../failures/refusals.ts';
import { renderForPage } from '../failures/render.ts';
import { type ConsoleRoute, routes } from '../routes.ts';
import { pathOfPage, render } from './templates.ts';
import type { ConsoleParts } from './visit.ts';

/** The pages that every page leads to, by the words of beyond §7. */
const navigation: readonly { name: ConsoleRoute; label: string }[] = [
  { name: 'operatorPage', label: 'Overview' },
  { name: 'operatorLeads', label: 'Leads' },
  { name: 'operatorAgents', label: 'Agents' },
  { name: 'operatorConfirmations', label: 'Confirmations' },
  { name: 'operatorSubscribers', label: 'Subscribers' },
  { name: 'operatorMessages', label: 'Messages' },
  { name: 'operatorAudit', label: 'Audit' },
];

type Shown = {
  title: string;
  /** HTML. */
  main: string;
  /** Who is signed in, where somebody is. */
  name?: string | undefined;
  /** The page it is on. */
  path?: string | undefined;
};

/** Takes the parts of a page; returns the whole HTML document. */
export function consoleLayout({ frame, settings }: ConsoleParts, shown: Shown): string {
  const { stylesheetPath, iconPath, iconType } = frame();
  const links = navigation.map(({ name, label }) => {
    const href = pathOfPage(name);
    const isHere = shown.path === href;
    const isAbove =
      !isHere && href !== routes.operatorPage.path && shown.path?.startsWith(`${href}/`);
    return { href, label, current: isHere ? 'page' : isAbove ? 'true' : undefined };
  });
  return render('layout', {
    ...shown,
    links,
    operatorName: settings.operator.name,
    stylesheetPath,
    ownStylesheetPath: routes.operatorStylesheet.path,
    iconPath,
    iconType,
  });
}

/** What is said where something was refused; it leads back to a page where there is one. */
export function refusalPage(
  parts: ConsoleParts,
  refusal: ConsoleRefusal,
  { name, back }: { name?: string | undefined; back?: string | undefined } = {},
): { status: number; html: string } {
  const { status, sentence, next } = renderForPage(refusal);
  const main = render('message', { heading: sentence, text: next, back });
  return { status, html: consoleLayout(parts, { title: sentence, main, name }) };
}
