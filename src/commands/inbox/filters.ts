/** What `list` and `export` leave out, as options of the command line (beyond §1, "The operator"). */
import {
  formNames,
  origins,
  type SubmissionFilter,
  statuses,
} from '../../submissions/listing-queries.ts';
import { parseSearch, type Search } from '../../submissions/search.ts';
import type { Call } from '../command.ts';
import { unknownName } from '../command-line.ts';
import { UsageFault } from '../faults.ts';
import { parseMoment } from '../moments.ts';

export const filterOptions = {
  status: { type: 'string', value: 'STATUS', meaning: statuses.join(', ') },
  form: { type: 'string', value: 'NAME', meaning: formNames.join(', ') },
  origin: { type: 'string', value: 'ORIGIN', meaning: origins.join(', ') },
  since: {
    type: 'string',
    value: 'DATE',
    meaning: 'received then or later, like 2026-12-01 (UTC)',
  },
  until: { type: 'string', value: 'DATE', meaning: 'received before that' },
  search: {
    type: 'string',
    value: 'TEXT',
    meaning: 'a reference, a telephone number, the beginning of an address, or words',
  },
} as const;

/** Throws `UsageFault` where an option says nothing that can be looked for. */
export function filterOf(call: Pick<Call, 'text'>): SubmissionFilter {
  const momentOf = (option: 'since' | 'until') => {
    const text = call.text(option);
    return text === undefined ? undefined : parseMoment(`--${option}`, text);
  };
  return {
    status: oneOf(call, 'status', statuses),
    form: oneOf(call, 'form', formNames),
    origin: oneOf(call, 'origin', origins),
    since: momentOf('since'),
    until: momentOf('until'),
    search: searchOf(call.text('search')),
  };
}

/** Throws `UsageFault` where it is no number of rows; undefined where it is not given. */
export function limitOf(call: Pick<Call, 'text'>): number | undefined {
  const text = call.text('limit');
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new UsageFault('--limit is a whole number from 1 to 999999.');
}

/** The value of an option that has a few; throws `UsageFault` where it has another. */
export function oneOf<const Value extends string>(
  call: Pick<Call, 'text'>,
  option: string,
  values: readonly Value[],
): Value | undefined {
  const text = call.text(option);
  const value = values.find((one) => one === text);
  if (text === undefined || value !== undefined) return value;
  throw new UsageFault(unknownName(`${option} ${text}`, text, values));
}

function searchOf(text: string | undefined): Search | undefined {
  if (text === undefined) return undefined;
  const search = parseSearch(text);
  if (search === undefined) throw new UsageFault('--search is blank: say what to look for.');
  return search;
}
