/**
 * Spec §8 as a table, in its order; below it, what contract §4 adds. Whatever else tells one of these
 * bounds (the catalogue of forms, failure sentences, schemas, tool definitions) takes the number from here.
 * Lengths are Unicode code points after normalization, bodies are bytes.
 */
export const bounds = {
  /** Every string value on the agent routes and `/api/leads`. */
  valueLength: 2000,
  /** `/api/leads`: unknown fields count, too. */
  fieldsPerRequest: 20,
  /** `/api/leads`. */
  fieldNameLength: 100,
  /** `/api/leads` and the agent flow. */
  contractorSignup: { name: 200, company: 200, phone: 50, companySize: 200, message: 2000 },
  /** A native form body over this is 413. */
  leadBodyBytes: 32_000,
  subscribeBodyBytes: 8_000,
  /** Spec §8 says it of `/api/subscribe`, contract §4 of every form. */
  emailLength: 254,
  /** Per client address; the lead rate counts valid submissions alone (spec §4.6). */
  rates: {
    preview: { limit: 60, windowSeconds: 60 },
    execute: { limit: 20, windowSeconds: 60 },
    leads: { limit: 5, windowSeconds: 15 * 60 },
    subscribe: { limit: 5, windowSeconds: 15 * 60 },
    /** Beyond §3: every request to the endpoint of the tools; a tool takes from its own rate as well. */
    mcp: { limit: 120, windowSeconds: 60 },
    /** Beyond §4: asking for a confirmation. */
    confirmations: { limit: 20, windowSeconds: 60 },
    /** Beyond §4: receipts and confirmations, cancelling them as well. */
    reads: { limit: 60, windowSeconds: 60 },
    /** Beyond §4: every button of a person's own page. */
    presses: { limit: 20, windowSeconds: 60 },
    /** Beyond §7: every press of an operator's sign-in. */
    signIns: { limit: 20, windowSeconds: 60 },
    /** Beyond §6: the page where a subscription is confirmed, and its button. */
    newsletter: { limit: 30, windowSeconds: 60 },
    /** Contract §4: bodies over `refusedBodyBytes` that were refused, whatever the route. */
    refusedBodies: { limit: 30, windowSeconds: 60 },
  },
  previewLifetimeMinutes: 10,
  /** Beyond §4: how long a person may take, a page that may be pressed, and a code. */
  confirmationLifetimeMinutes: 60,
  pageLifetimeMinutes: 10,
  codeLifetimeMinutes: 10,
  idempotencyKeyLength: 200,
  /** Beyond §6: for so long a subscription waits to be confirmed. */
  subscriptionLifetimeDays: 7,

  /** JSON bodies, on the agent routes and the form routes (contract §4). */
  jsonBodyBytes: 512 * 1024,
  /** Larger ones count once they were refused: no native form's body may be larger. */
  refusedBodyBytes: 32_000,
  /** Multipart bodies of more parts are not parsed; `fieldsPerRequest` is looked at later, behind the honeypot. */
  multipartParts: 100,
  /** The slug of the originating site (contract §4, "Slug"). */
  slugLength: 100,
} as const;
