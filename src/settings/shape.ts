/** Checks the shape of what a person wrote: settings, credentials, words. */
import type { Err, Infer, Type } from '@badrap/valita';

type Issue = Err['issues'][number];

export type Checked<T> = { kind: 'valid'; value: T } | { kind: 'invalid'; why: string };

/** What the schema makes of the value, or its first fault by where it stands (`whole`: at its top), never with a value. */
export function checkShape<S extends Type>(
  schema: S,
  value: unknown,
  whole = '',
): Checked<Infer<S>> {
  const result = schema.try(value);
  if (result.ok) return { kind: 'valid', value: result.value as Infer<S> };
  const [first] = result.issues;
  if (first === undefined) return { kind: 'invalid', why: 'is not valid' };
  const unknown = first.code === 'unrecognized_keys' ? first.keys.slice(0, 1) : [];
  const at = [...first.path, ...unknown].join('.') || whole;
  return { kind: 'invalid', why: at === '' ? describe(first) : `${at}: ${describe(first)}` };
}

function describe(issue: Issue): string {
  switch (issue.code) {
    case 'custom_error':
      return issue.message ?? 'is not valid';
    case 'missing_value':
      return 'is missing';
    case 'unrecognized_keys':
      return 'is not known';
    case 'invalid_type':
    case 'invalid_literal':
      return `must be ${issue.expected.join(' or ')}`;
    default:
      return 'is not valid';
  }
}
