/** Schemas of the facts about the contractor that its card shows (reference §20.3). */
import { hasUserInfo, line, TELEPHONE } from './values.ts';

const MAXIMUM = 120;

export const fact = line
  .map((given) => given.trim())
  .assert((given) => [...given].length <= MAXIMUM, `must have at most ${MAXIMUM} characters`);
export const year = fact.assert((given) => /^(1[6-9]|20)\d\d$/.test(given), 'must be a year such as 1998');
export const telephone = fact.assert((given) => TELEPHONE.test(given), 'must be a telephone number');
export const secureAddress = fact.assert(
  (given) => URL.parse(given)?.protocol === 'https:' && !hasUserInfo(given),
  'must be an https:// address',
);
