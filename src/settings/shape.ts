/** Checks the shape of settings, credentials and texts that a person wrote. */
import type { Err, Infer, Type } from '@badrap/valita';

type Issue = Err['issues'][number];

export type Checked<T> = { kind: 'valid'; value: T } | { kind: 'invalid'; why: string };

/** Returns the parsed value, or the first fault with its path (`whole` if it has none). A fault never repeats a value. */
export function checkShape<S extends Type>(schema: S, value: unknown, whole = ''): Checked<Infer<S>> {
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
      return 'is an unknown name';
    case 'invalid_type':
    case 'invalid_literal':
      return `must be ${issue.expected.join(' or ')}`;
    default:
      return 'is not valid';
  }
}
