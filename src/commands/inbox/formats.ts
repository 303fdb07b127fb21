/** Submissions as text for people: a table, and a page. */
import type { Attempt } from '../../submissions/attempts.ts';
import type { KeptSubmission } from '../../submissions/listing.ts';
import { isMixedScript } from '../../submissions/mixed-scripts.ts';
import { printable, tableOf } from '../terminal.ts';

/** The lines of a table, its head first. */
export function inboxTable(items: readonly KeptSubmission[]): string[] {
  const rows = items.map(({ receivedAt, status, event: { data } }) => [
    `${receivedAt.slice(0, 16).replace('T', ' ')}Z`,
    data.id,
    status,
    data.form,
    data.client ?? data.origin,
    data.fields.name ?? '',
    `${data.fields.email ?? ''}${isMixedScript(data.fields.email) ? ' (mixed scripts)' : ''}`,
  ]);
  const head = ['RECEIVED', 'ID', 'STATUS', 'FORM', 'FROM', 'NAME', 'E-MAIL'];
  return tableOf([head, ...rows.map((row) => row.map(printable))]);
}

/** One event in full, for a person. */
export function inboxPage({ receivedAt, event, ...became }: KeptSubmission): string[] {
  const { data } = event;
  const { status, reason, nextAttemptAt, attempts } = became;
  const rows: [string, string | null | undefined][] = [
    ['id', data.id],
    ['received', receivedAt],
    ['status', reason === null ? status : `${status} (${reason})`],
    ['next attempt', nextAttemptAt],
    ...attempts.map(attemptRow),
    ['type', event.type],
    ['form', data.form],
    ['recipient', data.recipient?.name],
    ['origin', data.origin],
    ['client', data.client],
    ['consent recorded', data.consent_recorded_at],
    ...Object.entries(data.fields),
    ['warning', isMixedScript(data.fields.email) ? 'the e-mail domain mixes scripts' : undefined],
  ];
  // A value of several lines stays readable: each line is indented, and clean by itself.
  return rows
    .filter((row): row is [string, string] => row[1] !== null && row[1] !== undefined)
    .map(([name, value]) => {
      const lines = value.split('\n').map(printable);
      return `${printable(name).padEnd(18)}${lines.join(`\n${' '.repeat(18)}`)}`;
    });
}

function attemptRow({ at, ms, outcome, by }: Attempt): [string, string] {
  return ['attempt', `${at}  ${outcome} after ${ms} ms (${by})`];
}
