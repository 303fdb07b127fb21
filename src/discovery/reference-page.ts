/** `/reference` and its mirror: made from the OpenAPI document on the first request, and kept. */
import type { FastifyInstance } from 'fastify';
import { type Frame, renderLayout } from '../site/layout.ts';
import { renderMarkdown } from '../site/markdown.ts';
import { renderMirror } from '../site/mirror.ts';
import type { SiteSettings } from '../site/placeholders.ts';
import { registerPage } from '../site/routes.ts';
import { structuredData } from '../site/structured-data.ts';
import { renderTemplate } from '../site/templates.ts';
import { paths } from './facts.ts';
import { type OpenapiDocument, referenceMarkdown } from './reference.ts';

/** What the sitemap lists of it. */
export const referencePage = {
  path: paths.reference,
  markdownPath: `${paths.reference}.md`,
  noindex: false,
};

const title = 'API reference';
const description = 'Every call, what it takes, what it answers and every error it may give.';

/** Takes the application, on which OpenAPI is registered; adds the two routes. */
export function registerReference(
  app: FastifyInstance,
  parts: { settings: SiteSettings; frame: Frame },
): void {
  registerPage(app, referencePage, () => renderReference(app, parts), 'asked');
}

function renderReference(
  app: FastifyInstance,
  { settings, frame }: { settings: SiteSettings; frame: Frame },
) {
  const { baseUrl, operator } = settings;
  const body = referenceMarkdown(app.swagger() as unknown as OpenapiDocument);
  const { path, markdownPath } = referencePage;
  const page = {
    path,
    markdownPath,
    canonical: baseUrl + path,
    picture: baseUrl + frame.picture.path,
    description,
    structuredData: structuredData(settings, { path, title, description, lang: 'en' }),
  };
  const main = renderTemplate('page', {
    name: 'reference',
    title,
    description,
    actions: [],
    form: undefined,
    prose: renderMarkdown(body),
  });
  const layout = { title, operatorName: operator.name, noindex: false, lang: 'en', main, page };
  return {
    html: renderLayout(layout, frame),
    markdown: renderMirror({ title, description, body, form: undefined, baseUrl }),
  };
}
