/** The short HTML page of a failure: of a native form (reference §3.8), or of an unknown address. */
import type { Log } from '../platform/log.ts';
import type { ProblemPage, RenderProblemPage } from '../server/page-or-json.ts';
import { contactHref, escapeHtml } from './interpolate.ts';
import { defaultFrame, type Frame, renderLayout } from './layout.ts';
import { renderTemplate } from './templates.ts';

type ErrorPage = ProblemPage & { operatorContact?: string | undefined; operatorName?: string };

/** Returns the renderer of error pages. If it can't read its files, it logs the error and renders a plain page. */
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
      log.error({ err: error }, 'error page not rendered');
      return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${problem.status}</title><h1>${escapeHtml(problem.sentence)}</h1></html>`;
    }
  };
}

export function renderErrorPage(page: ErrorPage, frame: Frame = defaultFrame()): string {
  const { errors, form } = frame.words;
  const { status, backTo, typed, operatorContact: contact, operatorName = 'Service' } = page;
  const heading = errors.headings[status] ?? errors.heading;
  const main = renderTemplate('error', {
    heading,
    // Some sentences of the catalogue are about HTTP, so people get other sentences.
    sentence: errors.sentences[status] ?? page.sentence,
    backTo,
    typed,
    words: { ...errors, contact: form.contact },
    contact: contact === undefined ? undefined : { text: contact, href: contactHref(contact) },
  });
  return renderLayout({ title: heading, operatorName, main, noindex: true }, frame);
}
