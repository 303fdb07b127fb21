/**
 * E-mails about submissions, rendered from the row when they are sent (reference §11.5). Everything that a person typed
 * is indented line by line, so that it can't pass for our text. The subject contains no typed text.
 */
import { findForm } from '../forms/catalog.ts';
import { parseEmail } from '../forms/fields.ts';
import type { MailContent } from '../mail/mail.ts';
import type { SubmissionRow } from '../storage/schema.ts';
import type { Event } from '../upstream/upstream.ts';

/** The name and address that sign an e-mail. */
export type MailSite = { operatorName: string; baseUrl: string };

const formName = (form: string) => form.replaceAll('_', ' ');

/** Returns the notice about a submission. Returns undefined if the content of the row is deleted. */
export function noticeMail(row: SubmissionRow, site: MailSite): MailContent | undefined {
  if (row.email === null) return undefined;
  const { data } = JSON.parse(row.event) as Event;
  const what = formName(row.form);
  const replyTo = parseEmail(row.email) === row.email ? { replyTo: row.email } : {};
  const origin = row.origin === 'browser' ? 'a browser' : `an agent, ${data.client ?? 'whose name is not kept'}`;
  return {
    subject: `${site.operatorName}: new ${what}, from ${row.origin === 'agent' ? 'an agent' : 'a browser'}`,
    ...replyTo,
    text: `A submission of the form ${what} came from ${origin}.

Who gets it: ${data.recipient?.name ?? site.operatorName}
Status: ${statusOf(row)}
Received: ${new Date(row.received_ms).toISOString()}
Reference: ${row.id}

What was written:

${fieldsOf(row.form, data.fields)}

To see it, and all that became of it:
npm run inbox -- show ${row.id}

${site.operatorName}
${site.baseUrl}
`,
  };
}

/**
 * Returns the summary of an hour. `counted` has the number of submissions by form, and `began_at` is the beginning of
 * the hour.
 */
export function summaryMail(counted: Readonly<Record<string, number>>, began_at: string, site: MailSite): MailContent {
  const total = Object.values(counted).reduce((sum, count) => sum + count, 0);
  const lines = Object.entries(counted).map(([form, count]) => `${formName(form)}: ${count}`);
  return {
    subject: `${site.operatorName}: ${total} more ${total === 1 ? 'submission' : 'submissions'} within an hour`,
    text: `In the hour from ${began_at} more came than are told of one by one.
Besides those that you had a message about:

${lines.sort().join('\n')}

To see them:
npm run inbox -- list --since ${began_at}

${site.operatorName}
${site.baseUrl}
`,
  };
}

function statusOf({ status, stored_here, id }: SubmissionRow): string {
  switch (status) {
    case 'delivered':
      return stored_here === 1 ? 'kept here, in the inbox' : 'delivered';
    case 'sending':
    case 'waiting':
      return 'kept here, not delivered yet; it is tried again';
    case 'undelivered':
      return `NOT DELIVERED: it needs you (npm run inbox -- show ${id})`;
    case 'dismissed':
      return 'dismissed';
  }
}

function fieldsOf(form: string, fields: Record<string, string>): string {
  const declared = findForm(form)?.fields ?? [];
  return Object.entries(fields)
    .map(([name, value]) => {
      const label = declared.find((field) => field.name === name)?.label ?? name;
      return `${label}\n${value.replace(/^/gm, '    ')}`;
    })
    .join('\n\n');
}
