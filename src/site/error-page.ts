/** The short HTML page of a failure: a native form's (spec §7) and a missing page's. */
import { type Frame, ourFrame, renderLayout } from './layout.ts';
import { contactHref } from './placeholders.ts';
import { renderTemplate } from './templates.ts';

type ErrorPage = {
  status: number;
  /** From the failure catalogue, or sentences about the fields. */
  sentence: string;
  /** The path of the form's page. */
  backTo?: string | undefined;
  /** Whether someone had typed something, which the browser still has. */
  typed?: boolean;
  operatorContact?: string | undefined;
  operatorName?: string;
};

/** What an error page says of the operator. */
export function operatorOf({ name, contact }: { name: string; contact: string | undefined }) {
  return { operatorName: name, ...(contact === undefined ? {} : { operatorContact: contact }) };
}

/** Takes a status and a sentence; returns the whole HTML document. */
export function renderErrorPage(page: ErrorPage, frame: Frame = ourFrame): string {
  const { errors, form } = frame.words;
  const heading = errors.headings[page.status] ?? errors.heading;
  const contact = page.operatorContact;
  const main = renderTemplate('error', {
    heading,
    // Where the catalogue speaks of HTTP, people read something else.
    sentence: errors.sentences[page.status] ?? page.sentence,
    backTo: page.backTo,
    typed: page.typed,
    words: { ...errors, contact: form.contact },
    contact: contact === undefined ? undefined : { text: contact, href: contactHref(contact) },
  });
  const operatorName = page.operatorName ?? 'Service';
  return renderLayout({ title: heading, operatorName, main, noindex: true }, frame);
}
