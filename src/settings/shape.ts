/** Checks the shape of settings, credentials and texts that a person wrote. */
import type { Err, Infer, Type } from '@badrap/valita';

type Issue = Err['issues'][number];

export type Checked<T> = { kind: 'valid'; value: T } | { kind: 'invalid'; why: string };

/** Returns the parsed value, or the first fault with its path (`whole` if it has none). A fault never repeats a value. */
export function checkShape<S extends Type>(schema: S, value: unknown, whole = ''): Checked<Infer<S>> {
  const result = schema.try(value);
  if (result.ok) return { kind: 'valid', value: result.value as Infer<S> };
  const [why = NOT_VALID] = result.issues.map((issue) => {
    const unknown = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
    const at = [...issue.path, ...unknown].join('.') || whole;
    return at === '' ? describe(issue) : `${at}: ${describe(issue)}`;
  });
  return { kind: 'invalid', why };
}

const NOT_VALID = 'is not valid';

function describe(issue: Issue): string {
  switch (issue.code) {
    case 'custom_error':
      return issue.message ?? NOT_VALID;
    case 'missing_value':
      return 'is missing';
    case 'unrecognized_keys':
      return 'is an unknown name';
    case 'invalid_type':
    case 'invalid_literal':
      return `must be ${issue.expected.join(' or ')}`;
    default:
      return NOT_VALID;
  }
}
