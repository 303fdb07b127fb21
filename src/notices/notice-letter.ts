/**
 * What the operator is told of a submission, from its row at the moment of sending (beyond §2). What a person
 * typed is indented line by line, so that nothing of it can pass for a line of ours, and stands nowhere in the
 * subject.
 */
import { findForm } from '../forms/catalog.ts';
import { parseEmail } from '../forms/fields.ts';
import type { Letter } from '../mail/mail.ts';
import type { SubmissionRow } from '../storage/schema.ts';

/** Who runs the site, and where it is. */
export type Site = { operatorName: string; baseUrl: string };

/** What is told of an event, whose type is known above this room. */
type EventData = {
  data: {
    fields: Record<string, string>;
    recipient: { name: string } | null;
    client: string | null;
  };
};

/** Takes the row; undefined where its content is gone. */
export function noticeLetter(row: SubmissionRow, site: Site): Letter | undefined {
  if (row.email === null) return undefined;
  const { data } = JSON.parse(row.event) as EventData;
  const what = row.form.replaceAll('_', ' ');
  const replyTo = parseEmail(row.email) === row.email ? { replyTo: row.email } : {};
  return {
    subject: `${site.operatorName}: new ${what}, from ${row.origin === 'agent' ? 'an agent' : 'a browser'}`,
    ...replyTo,
    text: `A submission of the form ${what} came from ${originOf(row, data)}.

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

/** Takes how many there were by form, and when the hour began; nobody's data is in it. */
export function summaryLetter(
  counted: Readonly<Record<string, number>>,
  began_at: string,
  site: Site,
): Letter {
  const total = Object.values(counted).reduce((sum, count) => sum + count, 0);
  const lines = Object.entries(counted).map(
    ([form, count]) => `${form.replaceAll('_', ' ')}: ${count}`,
  );
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

function originOf({ origin }: SubmissionRow, { client }: EventData['data']): string {
  return origin === 'browser' ? 'a browser' : `an agent, ${client ?? 'whose name is not kept'}`;
}

/** Kept, delivered, or in need of the operator. */
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
