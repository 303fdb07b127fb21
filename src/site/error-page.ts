/** The short HTML page of a failure: a native form's (spec §7) and a missing page's. */
import { renderLayout } from './layout.ts';
import { contactHref } from './placeholders.ts';
import { renderTemplate } from './templates.ts';

type ErrorPage = {
  status: number;
  /** From the failure catalogue, or sentences about the fields. */
  sentence: string;
  /** The path of the form's page. */
  backTo?: string;
  operatorContact?: string | undefined;
  operatorName?: string;
};

const headings: Record<number, string> = {
  400: 'Please check what you entered',
  404: 'This page does not exist',
  405: 'This page can’t be used like that',
  413: 'That is more than the form takes',
  429: 'That was a little too often',
  502: 'Your details may not have arrived',
  503: 'This is not available right now',
};

/** Takes a status and a sentence; returns the whole HTML document. */
export function renderErrorPage(page: ErrorPage): string {
  const heading = headings[page.status] ?? 'Something went wrong';
  const contact = page.operatorContact;
  const main = renderTemplate('error', {
    heading,
    sentence: page.sentence,
    backTo: page.backTo,
    contact: contact === undefined ? undefined : { text: contact, href: contactHref(contact) },
  });
  const operatorName = page.operatorName ?? 'Service';
  return renderLayout({ title: heading, operatorName, main, noindex: true });
}
