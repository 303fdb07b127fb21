/** The short HTML page of a failure: a native form's (spec §7) and a missing page's. */
import type { Log } from '../operations/log.ts';
import type { ProblemPage, RenderProblemPage } from '../server/page-or-json.ts';
import { type Frame, ourFrame, renderLayout } from './layout.ts';
import { contactHref, escapeHtml } from './placeholders.ts';
import { renderTemplate } from './templates.ts';

type ErrorPage = ProblemPage & { operatorContact?: string | undefined; operatorName?: string };

/**
 * Takes the operator, the frame and the log; returns what renders every page of an error. Where what it is
 * made with can't be read it is a plain one, and the log says why.
 */
export function problemPageRenderer(parts: {
  operator: { name: string; contact: string | undefined };
  frame: () => Frame;
  log: Log;
}): RenderProblemPage {
  const { operator, frame, log } = parts;
  return (problem) => {
    const page = { ...problem, operatorName: operator.name, operatorContact: operator.contact };
    try {
      return renderErrorPage(page, frame());
    } catch (error) {
      log.error({ err: error }, 'the page of an error could not be made');
      return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${problem.status}</title><h1>${escapeHtml(problem.sentence)}</h1></html>`;
    }
  };
}

/** Takes a status and a sentence; returns the whole HTML document. */
export function renderErrorPage(page: ErrorPage, frame: Frame = ourFrame()): string {
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
