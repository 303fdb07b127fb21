/** The content of a row: whatever says who sent it, and what (beyond §1, "Retention"). */
import type { Storage } from '../storage/database.ts';

/** Takes the storage; returns what the columns become when nothing needs the content any more. */
export function withoutContent({ dialect }: Storage) {
  return {
    event: dialect.withoutFields,
    email: null,
    telephone: null,
    subscriber: null,
    fields_digest: null,
    disclosures: null,
  };
}
