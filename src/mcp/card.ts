/**
 * The card on which a person sees a preview inside their chat, and answers it (reference §8.12). `card.html` is the
 * card. It gets the preview from its host, as the result of a preview tool.
 */
import { readFileSync } from 'node:fs';
import type { Receipt } from '../actions/executions.ts';
import { type Facts, formsOf, mcpServer } from '../discovery/deployment.ts';
import type { Refusal } from '../failures/refusals.ts';
import { projectFile } from '../project.ts';
import { directionOf } from '../site/interpolate.ts';
import type { Frame } from '../site/layout.ts';
import type { Words } from '../site/words.ts';
import { shownReference } from '../submissions/submission.ts';
import type { ToolAnswer } from './answers.ts';

/** Members of `_meta` that the card reads. */
export const MINIMUM = 'lead-intake/minimum';
const OUTCOME = 'lead-intake/outcome';
const REFERENCE = 'lead-intake/reference';

/** Matches the comments of the card's script, each of which is a line. */
const COMMENTS = /^\/(?:\/|\*\*).*\n/gm;

type Outcome = keyof Words['card']['ends'];

/** Outcome that the card shows after each refusal. After any other refusal, the person can try again. */
const outcomes: Partial<Record<Refusal['kind'], Outcome>> = {
  confirmationDeclined: 'declined',
  confirmationPending: 'pending',
  humanConfirmationRequired: 'page',
  appsNotDeclared: 'page',
  expiredPreview: 'expired',
  invalidPreview: 'expired',
  previewAlreadyUsed: 'used',
  upstreamRejected: 'rejected',
  upstreamRateLimited: 'rejected',
  upstreamUnconfirmed: 'failed',
  clientReported: 'reported',
};

/** Adds to an answer what the card reads: the outcome of a refusal, or the short reference of a receipt. */
export function forCard(answer: ToolAnswer): ToolAnswer {
  if (answer.kind === 'refused') return { ...answer, meta: { [OUTCOME]: outcomes[answer.refusal.kind] ?? 'retry' } };
  if (answer.kind !== 'done') return answer;
  const { receipt } = answer.body as { receipt?: Receipt };
  const reference = receipt && shownReference(receipt.action, receipt.action_id);
  return reference === undefined ? answer : { ...answer, meta: { [REFERENCE]: reference } };
}

/** Returns the card as an HTML document, with the operator's words and labels. */
export function renderCard(facts: Facts, frame: Frame): string {
  const { card, confirm, lang } = frame.words;
  const { gets, heading: title, reference, statementMeans, purposes } = confirm;
  const labels = Object.fromEntries(
    formsOf(facts).map(({ name, fields }) => [name, fields.map((field) => [field.name, field.label])]),
  );
  const { version } = mcpServer(facts);
  const words = { ...card, title, gets, reference, statementMeans, purposes, labels, version };
  // `<` would end the script element, or open a comment in it.
  const json = JSON.stringify(words).replaceAll('<', '\\u003c');
  return readFileSync(projectFile('src/mcp/card.html'), 'utf8')
    .replace(COMMENTS, '')
    .replace('lang="en" dir="ltr"', `lang="${lang}" dir="${directionOf(lang)}"`)
    .replace('>{}<', () => `>${json}<`);
}
