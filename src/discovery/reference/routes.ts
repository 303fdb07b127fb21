/** `/reference` and its mirror: made from the OpenAPI document when they are first asked for. */
import type { FastifyInstance } from 'fastify';
import { once } from '../../once.ts';
import { pages } from '../../routes.ts';
import { registerPage } from '../../server/page-and-mirror.ts';
import { renderContents } from '../../site/contents.ts';
import { type Frame, headOf, ourFrame, renderLayout } from '../../site/layout.ts';
import { renderDocument } from '../../site/markdown.ts';
import { renderMirror } from '../../site/markdown-mirror.ts';
import type { SiteSettings } from '../../site/placeholders.ts';
import { renderTemplate } from '../../site/templates.ts';
import type { OpenapiDocument } from './openapi-document.ts';

const title = 'API reference';
const description = 'Every call, what it takes, what it answers and every error it may give.';

type Parts = {
  settings: SiteSettings;
  frame: () => Frame;
  openapi: () => Promise<OpenapiDocument>;
};

/** Takes the application; adds the two routes. */
export function registerReference(app: FastifyInstance, parts: Parts): void {
  let rendered = { html: '', markdown: '' };
  const render = once(async () => {
    rendered = await renderReference(parts);
  });
  const read = () => ({ noindex: false, ...rendered });
  registerPage(app, pages.reference, read, { preHandler: render });
}

async function renderReference({ settings, frame, openapi }: Parts) {
  const { baseUrl, operator } = settings;
  const { referenceMarkdown } = await import('./markdown.ts');
  const body = referenceMarkdown(await openapi());
  const page = headOf({ ...pages.reference, title, description, lang: 'en' }, settings, frame());
  const { documentation: words } = ourFrame().words;
  const { html, headings } = renderDocument(body, { words, links: true });
  const main = renderTemplate('page', {
    name: 'reference',
    title,
    description,
    actions: [],
    form: undefined,
    contents: renderContents(headings, words),
    prose: html,
  });
  const about = { title, operatorName: operator.name, noindex: false, lang: 'en' };
  return {
    html: renderLayout({ ...about, main, page, isPrepared: true }, frame()),
    markdown: renderMirror({ title, description, body, form: undefined, baseUrl }),
  };
}
