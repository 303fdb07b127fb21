/**
 * E-mails about submissions, rendered from the row when they are sent (reference §11.5). A typed line is indented or
 * follows its label, so that a reader can't mistake it for our text. The subject has typed text without control
 * characters.
 */
import { findForm } from '../forms/catalog.ts';
import { parseEmail } from '../forms/fields.ts';
import type { MailContent } from '../mail/mail.ts';
import { pathTo, routes } from '../routes.ts';
import type { SubmissionRow } from '../storage/schema.ts';
import { isMixedScript } from '../submissions/homograph.ts';
import { shownReference } from '../submissions/submission.ts';
import type { Event } from '../upstream/upstream.ts';

/** Settings for the text of an e-mail to the operator. */
export type MailSite = {
  operatorName: string;
  baseUrl: string;
  /** True if the console is on. Then an e-mail has a link to it, and otherwise a command. */
  hasConsole: boolean;
  /** Returns a time, as ISO 8601 or in milliseconds, in the operator's time zone. */
  timeOf(at: string | number): string;
  /** Returns the label of a client, or its name if it has none. */
  labelOf(client: string): string;
};

/** Length of a subject and of the place in it, in code points. */
const SUBJECT_MAXIMUM = 100;
const PLACE_MAXIMUM = 30;

/** Characters that end a line in some mail program. */
const LINE_BREAK = /\r\n|[\n\v\f\r\x85\u2028\u2029]/g;

/** Characters that a subject must not have, besides those that change the direction of the text. */
const CONTROL = /[\p{Cc}\p{Noncharacter_Code_Point}\p{Surrogate}]/gu;

const formName = (form: string) => form.replaceAll('_', ' ');

/**
 * Returns the notice about a submission. Returns undefined if the content of the row is deleted. The contractor can't
 * use the console or a command, so their notice explains why they get it instead.
 */
export function noticeMail(
  row: SubmissionRow,
  site: MailSite,
  to: 'operator' | 'contractor' = 'operator',
): MailContent | undefined {
  if (row.email === null) return undefined;
  const { id, form, email } = row;
  const { data } = JSON.parse(row.event) as Event;
  const isAnswerable = parseEmail(email) === email;
  const reference = shownReference(form, id);
  const paragraphs = [
    fieldsOf(form, data.fields),
    isMixedScript(email) ? 'Careful: the e-mail address mixes letters of several alphabets.' : undefined,
    isAnswerable ? 'A reply to this message goes to this person.' : undefined,
    [
      `Form: ${formName(form)}, from ${originOf(row, data.client, site)}`,
      `Goes to: ${data.recipient?.name ?? site.operatorName}`,
      `Status: ${statusOf(row, site)}`,
      `Received: ${site.timeOf(row.received_ms)}`,
      ...(reference === undefined ? [] : [`Reference: ${reference}`]),
    ].join('\n'),
    to === 'contractor'
      ? `Please answer this person yourself. ${site.operatorName} sends you each request for a quote from its site, once.`
      : linkOrCommands(site, {
          intro: 'To see the submission and its delivery:',
          path: pathTo(routes.operatorLead, { id }),
          commands: [`npm run inbox -- show ${id}`],
        }),
  ];
  return {
    subject: subjectOf(form, data.fields),
    ...(isAnswerable && { replyTo: email }),
    text: textOf(site, paragraphs),
  };
}

/**
 * Returns the summary of an hour. `counted` has the number of submissions by form, and `began_at` is the beginning of
 * the hour.
 */
export function summaryMail(counted: Readonly<Record<string, number>>, began_at: string, site: MailSite): MailContent {
  const total = Object.values(counted).reduce((sum, count) => sum + count, 0);
  const submissions = total === 1 ? 'submission' : 'submissions';
  const lines = Object.entries(counted).map(([form, count]) => `${formName(form)}: ${count}`);
  const paragraphs = [
    `In the hour from ${site.timeOf(began_at)}, ${total} more ${submissions} came in. You get at most 20 notices an hour.`,
    lines.sort().join('\n'),
    linkOrCommands(site, {
      intro: 'To see all submissions since then:',
      path: `${routes.operatorLeads.path}?since=${encodeURIComponent(began_at)}`,
      commands: [`npm run inbox -- list --since ${began_at}`],
    }),
  ];
  return { subject: `${total} more ${submissions} within an hour`, text: textOf(site, paragraphs) };
}

/** Returns the link to a page of the console. If the console is off, returns the commands, or undefined without any. */
export function linkOrCommands(
  { baseUrl, hasConsole }: MailSite,
  { intro, path, commands }: { intro: string; path: string; commands: readonly string[] },
): string | undefined {
  const lines = hasConsole ? [baseUrl + path] : commands;
  return lines.length === 0 ? undefined : [intro, ...lines].join('\n');
}

/** Returns the text of an e-mail with its signature. */
export function textOf({ operatorName, baseUrl }: MailSite, paragraphs: readonly (string | undefined)[]): string {
  return `${paragraphs.filter((each) => each !== undefined).join('\n\n')}\n\n${operatorName}\n${baseUrl}\n`;
}

/** Returns the person's name, the postal code or company, and the form. Long parts end with an ellipsis. */
function subjectOf(form: string, { name = '', postal_code, company = '' }: Readonly<Record<string, string>>): string {
  const place = cut(inSubject(postal_code ?? company), PLACE_MAXIMUM);
  const end = `${place && `, ${place}`}: ${formName(form)}`;
  const person = cut(inSubject(name), SUBJECT_MAXIMUM - [...end].length);
  return person === '' ? formName(form) : person + end;
}

/** Returns typed text as one line. `=?` would begin an encoded word, which mail programs decode (RFC 2047). */
function inSubject(typed: string): string {
  const plain = typed.replace(/\p{Bidi_Control}/gu, '').replace(CONTROL, ' ');
  return plain.replace(/\s+/g, ' ').trim().replaceAll('=?', '= ?');
}

function cut(text: string, maximum: number): string {
  const letters = [...text];
  return letters.length <= maximum
    ? text
    : `${letters
        .slice(0, maximum - 1)
        .join('')
        .trimEnd()}…`;
}

function originOf({ origin }: SubmissionRow, client: string | null, { labelOf }: MailSite): string {
  if (origin === 'browser') return 'a browser';
  return `an agent, ${client === null ? 'whose name is not stored' : labelOf(client)}`;
}

function statusOf({ status, stored_here, next_attempt_ms: nextMs }: SubmissionRow, { timeOf }: MailSite): string {
  switch (status) {
    case 'delivered':
      return stored_here === 1 ? 'stored in the inbox' : 'delivered';
    case 'sending':
      return 'stored, delivery in progress';
    case 'waiting':
      return `stored, not delivered yet${nextMs === null ? '' : `, next attempt on ${timeOf(nextMs)}`}`;
    case 'undelivered':
      return 'NOT DELIVERED. The submission is stored, but the service makes no further attempt.';
    case 'dismissed':
      return 'dismissed';
  }
}

/** Fields that come first: the person's name and contact data. */
const FIRST = ['name', 'phone', 'email'];

/** Returns the fields with their labels. A text has a paragraph of its own, and any other value is behind its label. */
function fieldsOf(form: string, fields: Readonly<Record<string, string>>): string {
  const declared = findForm(form)?.fields ?? [];
  const first = FIRST.filter((name) => Object.hasOwn(fields, name));
  const names = [...first, ...Object.keys(fields).filter((name) => !first.includes(name))];
  const texts: string[] = [];
  const lines: string[] = [];
  for (const name of names) {
    const value = (fields[name] ?? '').replace(LINE_BREAK, '\n    ');
    const { kind, label } = declared.find((field) => field.name === name) ?? { label: name };
    const question = label.endsWith('?') ? label : `${label}:`;
    if (kind === 'text') texts.push(`${question}\n    ${value}`);
    else lines.push(`${question} ${value}`);
  }
  return [lines.join('\n'), ...texts].join('\n\n');
}
