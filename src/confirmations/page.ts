/** Renders the confirmation page and its result with the site's layout (reference §6.8). It needs no script. */
import { CONFIRMATION_STATEMENT } from '../actions/preview.ts';
import type { Credentials } from '../credentials/file.ts';
import { pressProblems } from '../failures/page-problems.ts';
import type { PressRefusal } from '../failures/refusals.ts';
import { type Form, findForm } from '../forms/catalog.ts';
import { maskedAddress } from '../forms/fields.ts';
import type { Fields } from '../forms/validate.ts';
import { filledPath, pathTo, routes } from '../routes.ts';
import type { SigningKeys } from '../settings/signing-keys.ts';
import { renderDone } from '../site/done-page.ts';
import { shortWait } from '../site/form-words.ts';
import { escapeHtml, fillInIsolated } from '../site/interpolate.ts';
import { type Frame, renderLayout } from '../site/layout.ts';
import { ago, remaining } from '../site/relative-times.ts';
import { renderTemplate } from '../site/templates.ts';
import { localizedForm } from '../site/words.ts';
import { shownReference } from '../submissions/submission.ts';
import { CODE_LIFETIME_MS } from './codes.ts';
import { type Confirmation, isCodeOut } from './confirmations.ts';
import { sealPage } from './tokens.ts';

export type PageParts = {
  frame(): Frame;
  operator: { name: string; contact: string | undefined };
  signingKeys: SigningKeys;
  credentials: Pick<Credentials, 'labelOf'>;
};

export type Shown = {
  confirmation: Confirmation;
  secret: string;
  now: Date;
  /** True if the page shows the fields in full, after the right code. */
  unmasked?: boolean;
  /** Number of attempts that remain after a wrong code. */
  left?: number;
};

/** Returns the HTML document of a confirmation in any state. */
export function confirmationPage(parts: PageParts, shown: Shown): string {
  const { status } = shown.confirmation.execution;
  if (status !== 'asked') return endPage(parts, shown, status);
  const frame = parts.frame();
  const { confirmation, secret, now, unmasked = false, left } = shown;
  const { id, destination, via, code_expires_at: codeEnds, code_number } = confirmation;
  const client = parts.credentials.labelOf(confirmation.client);
  const fields = JSON.parse(confirmation.fields ?? '{}') as Fields;
  const { lang } = frame.words;
  const values = {
    client,
    destination,
    address: maskedAddress(fields.email ?? ''),
    left: (left ?? 0).toLocaleString(lang),
    count: code_number.toLocaleString(lang),
    operator: parts.operator.name,
  };
  const words = fillInIsolated(frame.words.confirm, values, lang);
  const mailedAt = new Date(Date.parse(codeEnds ?? '') - CODE_LIFETIME_MS);
  const expiresAt = new Date(confirmation.expires_at);
  const found = findForm(confirmation.action);
  const form = found && localizedForm(found, frame.words);
  const masked = via === 'page_email' && !unmasked;
  const codeIsOut = masked && isCodeOut(confirmation, now);
  const isWrong = left !== undefined;
  const mailed = code_number > 1 ? words.anotherMailed : words.codeMailed;
  const main = renderTemplate('confirm', {
    words,
    action: pathTo(routes.confirmationPage, { secret }),
    wrong: isWrong && {
      left: left === 1 ? words.wrongLast : words.wrongLeft,
      error: frame.words.form.error,
    },
    mailed,
    newest: codeIsOut && withTime(words.newest, 'at', ago(mailedAt, now, lang)),
    until: withTime(words.until, 'until', remaining(expiresAt, now, lang, words.exactUntil)),
    isAnother: code_number > 1,
    parties: [
      { label: words.asks, value: client },
      { label: words.gets, value: destination },
      { label: words.purpose, value: form === undefined ? '' : words.purposes[form.name] },
    ],
    heading: masked ? words.masked : words.heading,
    masked,
    test: confirmation.sandbox === 1 && words.test,
    fields: form === undefined ? [] : linesOf(form, fields),
    statement: CONFIRMATION_STATEMENT,
    codeIsOut,
    token: masked ? '' : sealPage(parts.signingKeys, id, now),
  });
  // Screen readers read the title first, so it begins with the error.
  const title = isWrong ? `${frame.words.form.error} ${words.title}` : words.title;
  return layout(parts, codeIsOut && !isWrong ? `${mailed} · ${words.title}` : title, main);
}

/** Returns the page after “Change something”, with a link to the filled-in form (reference §6.15). */
export function changedPage(parts: PageParts, confirmation: Confirmation): string {
  const { action, destination, fields } = confirmation;
  const { confirm, lang } = parts.frame().words;
  const client = parts.credentials.labelOf(confirmation.client);
  const { title, text, open } = fillInIsolated(confirm.changed, { client, destination }, lang);
  const form = findForm(action);
  const main = renderTemplate('confirm-end', {
    title,
    text: escapeHtml(text),
    link: form && { href: filledPath(form.page, JSON.parse(fields ?? '{}') as Fields), text: open },
  });
  return layout(parts, title, main);
}

/** Returns the status and the HTML of the page for a button that had no effect. */
export function refusedPage(
  parts: PageParts,
  refusal: PressRefusal,
  secret: string | undefined,
): { status: number; html: string } {
  const { words } = parts.frame();
  const { status } = pressProblems[refusal.kind];
  const { lang } = words;
  const wait = 'retryAfterSeconds' in refusal ? shortWait(refusal.retryAfterSeconds, lang) : '';
  const { title, text } = fillInIsolated(words.confirm.refused[refusal.kind], { wait }, lang);
  const main = renderTemplate('error', {
    heading: title,
    sentence: text,
    backTo: secret && pathTo(routes.confirmationPage, { secret }),
    words: { ...words.errors, back: words.confirm.back },
  });
  return { status, html: layout(parts, words.confirm.title, main) };
}

/**
 * Returns the result page: time, receiver and reference, without fields. After a success it also says what happens next
 * (reference §6.8).
 */
function endPage(
  parts: PageParts,
  { confirmation, secret, now }: Shown,
  status: keyof Frame['words']['confirm']['ends'],
): string {
  const { words } = parts.frame();
  const { confirm, lang } = words;
  const { id, action, destination, execution } = confirmation;
  const values = { client: parts.credentials.labelOf(confirmation.client), destination };
  const { title, text: template } = fillInIsolated(confirm.ends[status], values, lang);
  const at = new Date(execution.settled_at ?? execution.created_at);
  const text = withTime(template, 'at', ago(at, now, lang));
  const reference = status === 'expired' ? undefined : shownReference(action, id);
  const isTest = confirmation.sandbox === 1;
  if (status === 'submitted') {
    const { answer, back } = fillInIsolated(confirm.next, values, lang);
    // Nobody answers a test or a newsletter subscription, which has no reference.
    const steps = isTest || reference === undefined ? [back] : [answer, back];
    const done = { title, text, reference, steps, notice: isTest ? confirm.test : undefined };
    return layout(parts, title, renderDone(done, { operator: parts.operator, words }));
  }
  const main = renderTemplate('confirm-end', {
    title,
    text,
    test: isTest && confirm.test,
    words: confirm,
    reference,
    link: status === 'executing' && { href: pathTo(routes.confirmationPage, { secret }), text: confirm.reload },
  });
  return layout(parts, title, main);
}

function layout(parts: PageParts, title: string, main: string): string {
  const operatorName = parts.operator.name;
  return renderLayout({ title, operatorName, main, noindex: true, isPersonal: true }, parts.frame());
}

/** Returns the fields that would be sent, with their labels, in the order of the form. */
function linesOf(form: Form, fields: Fields): { label: string; value: string }[] {
  return form.fields.flatMap(({ name, label }) => {
    const value = fields[name];
    return value === undefined ? [] : [{ label, value }];
  });
}

/** Returns a text as HTML, with a time in place of the placeholder. */
function withTime(text: string, name: 'at' | 'until', time: string): string {
  return escapeHtml(text).replace(`{${name}}`, () => time);
}
