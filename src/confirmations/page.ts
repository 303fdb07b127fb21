/** What one person is asked, and what became of it (beyond §4): rendered by the site's own parts, without a script. */
import { CONFIRMATION_STATEMENT } from '../actions/confirmation-statement.ts';
import type { PressRefusal } from '../failures/refusals.ts';
import { renderForPage } from '../failures/render.ts';
import { type Form, findForm } from '../forms/catalog.ts';
import { maskedAddress } from '../forms/masked-address.ts';
import type { Fields } from '../forms/validate.ts';
import { pathTo, routes } from '../routes.ts';
import type { SigningKeys } from '../settings/signing-keys.ts';
import { filledIn } from '../site/filled.ts';
import { shortWait } from '../site/form-words.ts';
import { type Frame, renderLayout } from '../site/layout.ts';
import { renderTemplate } from '../site/templates.ts';
import { wordedForm } from '../site/words.ts';
import { CODE_LIFETIME_MS } from './codes.ts';
import { type Confirmation, isCodeOut } from './confirmations.ts';
import { sealPage } from './secrets.ts';

export type PageParts = {
  frame(): Frame;
  operator: { name: string };
  signingKeys: SigningKeys;
};

type Shown = {
  confirmation: Confirmation;
  secret: string;
  now: Date;
  /** The right code was typed. */
  unmasked?: boolean;
  /** What was typed is not the code: how many more may be typed. */
  left?: number;
};

/** Takes one of any state; returns the whole HTML document. */
export function confirmationPage(parts: PageParts, shown: Shown): string {
  const { status } = shown.confirmation.execution;
  if (status !== 'asked') return endPage(parts, shown, status);
  const frame = parts.frame();
  const { confirmation, secret, now, unmasked = false, left } = shown;
  const { id, client, destination, via, code_expires_at: codeEnds, code_number } = confirmation;
  const fields = JSON.parse(confirmation.fields ?? '{}') as Fields;
  const { lang } = frame.words;
  const values = {
    client,
    destination,
    address: maskedAddress(fields.email ?? ''),
    until: timeOf(confirmation.expires_at, lang),
    left: (left ?? 0).toLocaleString(lang),
    count: code_number.toLocaleString(lang),
    at: codeEnds === null ? '' : timeOf(Date.parse(codeEnds) - CODE_LIFETIME_MS, lang),
  };
  const words = filledIn(frame.words.confirm, values, lang);
  const found = findForm(confirmation.action);
  const form = found && wordedForm(found, frame.words);
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
    isAnother: code_number > 1,
    parties: [
      { label: words.asks, value: client },
      { label: words.gets, value: destination },
      { label: words.purpose, value: form === undefined ? '' : words.purposes[form.name] },
    ],
    heading: masked ? words.masked : words.heading,
    masked,
    fields: form === undefined ? [] : linesOf(form, fields),
    statement: CONFIRMATION_STATEMENT,
    codeIsOut,
    token: masked ? '' : sealPage(parts.signingKeys, id, now),
  });
  // As a page that answers a form is called, for whoever hears its title first.
  const title = isWrong ? `${frame.words.form.error} ${words.title}` : words.title;
  return layout(parts, codeIsOut && !isWrong ? `${mailed} · ${words.title}` : title, main);
}

/** What is said where a button did nothing. */
export function refusedPage(
  parts: PageParts,
  refusal: PressRefusal,
  secret: string | undefined,
): { status: number; html: string } {
  const { words } = parts.frame();
  const { status } = renderForPage(refusal);
  const { lang } = words;
  const wait = 'retryAfterSeconds' in refusal ? shortWait(refusal.retryAfterSeconds, lang) : '';
  const { title, text } = filledIn(words.confirm.refused[refusal.kind], { wait }, lang);
  const main = renderTemplate('error', {
    heading: title,
    sentence: text,
    backTo: secret && pathTo(routes.confirmationPage, { secret }),
    words: { ...words.errors, back: words.confirm.back },
  });
  return { status, html: layout(parts, words.confirm.title, main) };
}

/** When, to whom and the reference; no field (beyond §4). */
function endPage(
  parts: PageParts,
  { confirmation, secret }: Shown,
  status: keyof Frame['words']['confirm']['ends'],
): string {
  const { confirm, lang } = parts.frame().words;
  const { id, client, destination, execution } = confirmation;
  const at = timeOf(execution.settled_at ?? execution.created_at, lang);
  const { title, text } = filledIn(confirm.ends[status], { client, destination, at }, lang);
  const main = renderTemplate('confirm-end', {
    title,
    text,
    words: confirm,
    reference: status === 'expired' ? undefined : id,
    reload: status === 'executing',
    action: pathTo(routes.confirmationPage, { secret }),
  });
  return layout(parts, title, main);
}

function layout(parts: PageParts, title: string, main: string): string {
  const operatorName = parts.operator.name;
  return renderLayout({ title, operatorName, main, noindex: true }, parts.frame());
}

/** Every field that would be sent, in the form's order, under the words that people know it by. */
function linesOf(form: Form, fields: Fields): { label: string; value: string }[] {
  return form.fields.flatMap(({ name, label }) => {
    const value = fields[name];
    return value === undefined ? [] : [{ label, value }];
  });
}

function timeOf(time: string | number, lang: string): string {
  const format = { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' } as const;
  return `${new Intl.DateTimeFormat(lang, format).format(new Date(time))} UTC`;
}
