/** How strong a confirmation is, and the least that an action takes (beyond §4, `CONFIRMATION_MINIMUM`). */
import type { ConfirmedVia } from '../storage/schema.ts';

/** The weakest first. */
const STRENGTH: readonly ConfirmedVia[] = ['agent', 'client_form', 'page', 'page_email'];

/** Whether one way of confirming shows less than another. */
export function isBelow(via: ConfirmedVia, minimum: ConfirmedVia): boolean {
  return STRENGTH.indexOf(via) < STRENGTH.indexOf(minimum);
}
