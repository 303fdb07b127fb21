/**
 * Codes of refusals for problem details (reference §18.5). A code is the name of the kind in snake case, unless this
 * file has a clearer one. A code never changes, so renaming a kind needs an entry here.
 */
import { pages } from '../routes.ts';
import { oauthProblems } from './oauth-problems.ts';
import type { Problem } from './problem.ts';
import type { Refusal } from './refusals.ts';

const codes: Partial<Record<Refusal['kind'], string>> = {
  inProgress: 'execution_in_progress',
  otherAction: 'preview_of_other_action',
  previewIdNotText: 'missing_preview_id',
  contentType: 'unsupported_content_type',
  contentEncoding: 'unsupported_content_encoding',
  charset: 'unsupported_charset',
  notText: 'value_not_text',
  fileUpload: 'file_not_accepted',
  kept: 'delivery_pending',
  left: 'delivery_failed',
  unconfirmed: 'delivery_unconfirmed',
  unsent: 'not_sent',
  subscriptionNotKept: 'subscription_not_stored',
  internal: 'internal_error',
  // RFC 6749 and 8707 have a code for each error of OAuth.
  ...codesOf(oauthProblems),
};

function codesOf(some: Record<string, Problem>) {
  return Object.fromEntries(Object.entries(some).map(([kind, { errorCode }]) => [kind, errorCode]));
}

/** Returns the code of a kind. Each kind has its own. */
export function codeOf(kind: Refusal['kind']): string {
  return codes[kind] ?? kind.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Returns the fragment of the API reference that describes a code. */
export function anchorOf(code: string): string {
  return `problem-${code}`;
}

/** Returns the path of the description of a code, which `type` of problem details points to. */
export function describedAt(code: string): string {
  return `${pages.reference.path}#${anchorOf(code)}`;
}
