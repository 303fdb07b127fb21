/** Renders the page on which a person connects a host, with the site's layout, without a script (reference §26.4). */
import type { Credentials } from '../credentials/file.ts';
import { connectProblems } from '../failures/oauth-problems.ts';
import type { ConnectRefusal } from '../failures/refusals.ts';
import { routes } from '../routes.ts';
import { shortWait } from '../site/form-words.ts';
import { fillInIsolated } from '../site/interpolate.ts';
import { type Frame, renderLayout } from '../site/layout.ts';
import { renderTemplate } from '../site/templates.ts';
import { hostOf } from './addresses.ts';
import type { AuthorizationRequest } from './authorization-request.ts';

export type PageParts = {
  frame(): Frame;
  operator: { name: string };
  credentials: Pick<Credentials, 'labelOf'>;
};

/** Returns the HTML document of a request. `isWrong` is true after a wrong token. */
export function authorizePage(
  parts: PageParts,
  { asking, redirectUri, scopes }: AuthorizationRequest,
  { query, isWrong = false }: { query: URLSearchParams; isWrong?: boolean },
): string {
  const { words } = parts.frame();
  const { client, host, name } = asking;
  const returnsTo = hostOf(redirectUri);
  const values = { host, operator: parts.operator.name };
  const { refused, scopes: scopeWords, ...connect } = fillInIsolated(words.connect, values, words.lang);
  const main = renderTemplate('connect', {
    words: connect,
    error: isWrong && { label: words.form.error, ...refused.wrongToken },
    action: `${routes.authorizePage.path}?${query}`,
    parties: [
      { label: connect.host, value: host },
      ...(name === undefined ? [] : [{ label: connect.name, value: name }]),
      ...(returnsTo === host ? [] : [{ label: connect.returns, value: returnsTo }]),
      { label: connect.client, value: client === undefined ? connect.byToken : parts.credentials.labelOf(client) },
    ],
    scopes: scopes.map((scope) => ({ scope, text: scopeWords[scope as keyof typeof scopeWords] })),
    needsToken: client === undefined,
  });
  // Screen readers read the title first, so it begins with the error.
  return layout(parts, isWrong ? `${words.form.error} ${connect.title}` : connect.title, main);
}

/** Returns the status and the HTML of the page for a request or a button that had no effect. */
export function refusedPage(parts: PageParts, refusal: ConnectRefusal): { status: number; html: string } {
  const { words } = parts.frame();
  const { status } = connectProblems[refusal.kind];
  const wait = 'retryAfterSeconds' in refusal ? shortWait(refusal.retryAfterSeconds, words.lang) : '';
  const { title, text } = fillInIsolated(words.connect.refused[refusal.kind], { wait }, words.lang);
  const main = renderTemplate('error', { heading: title, sentence: text, words: words.errors });
  return { status, html: layout(parts, words.connect.title, main) };
}

function layout(parts: PageParts, title: string, main: string): string {
  return renderLayout({ title, operatorName: parts.operator.name, main, noindex: true }, parts.frame());
}
