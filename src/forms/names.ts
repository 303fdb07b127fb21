/** Checks names that the operator sets for clients, for themselves and for the contractor. People trust these names. */
import { hasForbiddenCharacter, hasPiledMarks, isLongerThan, normalize } from './fields.ts';
import { isBlank } from './invisible-characters.ts';

/** The rule in words, after "must ". */
export const NAME_RULE =
  'be in Unicode form NFC, without hidden characters, without blanks at its ends, and with at most eight marks on a letter';

/**
 * Returns true if a name is one visible line within the bound (code points) that the rules of a form's field leave
 * unchanged (reference §2.11). Other names are refused, not cleaned, so that the operator sees what people see.
 */
export function isName(maximum: number, name: string): boolean {
  return (
    !isLongerThan(maximum, name) &&
    name === normalize(name).normalize('NFC') &&
    !hasForbiddenCharacter('line', name) &&
    !isBlank(name) &&
    !hasPiledMarks(name)
  );
}
