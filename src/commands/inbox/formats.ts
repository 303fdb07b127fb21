/** Formats submissions as text for people: a table, and a page. */
import { valuesOf } from '../../forms/catalog.ts';
import { isMixedScript } from '../../submissions/homograph.ts';
import type { StoredSubmission } from '../../submissions/read/list.ts';
import { shortReference } from '../../submissions/submission.ts';
import type { Event } from '../../upstream/upstream.ts';
import { printable } from '../printable.ts';
import { tableOf } from '../terminal.ts';

/** Width of the narrowest terminal that the table fits. */
const COLUMNS = 80;
/** Characters of an id of version 7 that hold its millisecond. `show` takes the beginning of an id. */
const ID_CHARACTERS = 13;
const NAME_CHARACTERS = 20;
const EMAIL_CHARACTERS = 36;

/** Returns the lines of a table, its head first. A second line under each row shows the person and the message. */
export function inboxTable(items: readonly StoredSubmission[]): string[] {
  const idLength = distinctLength(items.map(({ event }) => event.data.id));
  const rows = items.map(({ receivedAt, status, event: { data } }) => [
    `${receivedAt.slice(0, 16).replace('T', ' ')}Z`,
    data.id.slice(0, idLength),
    status,
    data.form,
    data.client ?? data.origin,
  ]);
  const [head = '', ...lines] = tableOf([['RECEIVED', 'ID', 'STATUS', 'FORM', 'FROM'], ...rows]);
  const pairs = items.flatMap(({ event }, index) => [lines[index] ?? '', `  ${summaryOf(event)}`.trimEnd()]);
  return [head, ...pairs].map((line) => clip(line, COLUMNS));
}

/** Returns how many characters distinguish these ids. */
function distinctLength(ids: readonly string[]): number {
  const isDistinct = (length: number) => new Set(ids.map((id) => id.slice(0, length))).size === new Set(ids).size;
  let length = ID_CHARACTERS;
  while (!isDistinct(length)) length += 1;
  return length;
}

function summaryOf({ data: { form, fields } }: Event): string {
  const { name, email = '' } = fields;
  const warning = isMixedScript(email) ? ' (mixed scripts)' : '';
  const rest = [...valuesOf(form, fields, ['code', 'line', 'phone']), ...valuesOf(form, fields, ['text'])].map(
    onOneLine,
  );
  const person = [clip(onOneLine(name), NAME_CHARACTERS), clip(onOneLine(email), EMAIL_CHARACTERS) + warning];
  return [...person, ...rest].filter((part) => part !== '').join(', ');
}

function onOneLine(text = ''): string {
  return printable(text.replace(/\s+/g, ' ')).trim();
}

function clip(text: string, maximum: number): string {
  const characters = [...text];
  return characters.length > maximum ? `${characters.slice(0, maximum - 1).join('')}…` : text;
}

/** Returns the lines of one submission in full. */
export function inboxPage(item: StoredSubmission): string[] {
  const { receivedAt, event, status, reason, progress, note, nextAttemptAt, attempts } = item;
  const { data, type } = event;
  const rows: [string, string | null | undefined][] = [
    ['id', data.id],
    ['reference', data.form === 'newsletter' ? undefined : shortReference(data.id)],
    ['received', receivedAt],
    ['progress', progress],
    ['note', note],
    ['status', reason === null ? status : `${status} (${reason})`],
    ['next attempt', nextAttemptAt],
    ...attempts.map(({ at, ms, outcome, by, http_status }): [string, string] => {
      const answer = http_status === null ? '' : `, HTTP ${http_status},`;
      return ['attempt', `${at}  ${outcome}${answer} after ${ms} ms (${by})`];
    }),
    ['type', type],
    ['form', data.form],
    ['recipient', data.recipient?.name],
    ['origin', data.origin],
    ['client', data.client],
    ['consent recorded', data.consent_recorded_at],
    ...Object.entries(data.fields),
    ['warning', isMixedScript(data.fields.email) ? 'the e-mail domain mixes scripts' : undefined],
  ];
  return rows.flatMap(([name, value]) => {
    // Further lines of a value are indented, so that none looks like a row.
    const [first, ...more] = value?.replaceAll('\t', ' ').split('\n') ?? [];
    return first === undefined ? [] : [`${name.padEnd(18)}${first}`, ...more.map((line) => ' '.repeat(18) + line)];
  });
}
