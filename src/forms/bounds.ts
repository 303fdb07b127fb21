/**
 * The limits of reference §17, in the order of its tables. Forms, failure sentences, schemas and tool definitions take
 * their numbers from this file. Lengths are in Unicode code points after normalization, sizes of bodies in bytes.
 */
export const bounds = {
  /** Length of each value on the agent routes and `/api/leads`. */
  valueLength: 2000,
  /** Number of fields on `/api/leads`, unknown fields included. */
  fieldsPerRequest: 20,
  /** Length of a field's name on `/api/leads`. */
  fieldNameLength: 100,
  /** Lengths of this form's fields, on `/api/leads` and the agent routes. */
  contractorSignup: { name: 200, company: 200, phone: 50, companySize: 200, message: 2000 },
  /** A larger native form body is refused with 413. */
  leadBodyBytes: 32_000,
  subscribeBodyBytes: 8_000,
  /** Length of an address in every form (reference §2.7). */
  emailLength: 254,
  /** Requests of one client address (reference §17.2). The rate of leads counts only valid submissions. */
  rates: {
    preview: { limit: 60, windowSeconds: 60 },
    execute: { limit: 20, windowSeconds: 60 },
    leads: { limit: 5, windowSeconds: 15 * 60 },
    subscribe: { limit: 5, windowSeconds: 15 * 60 },
    /** Requests to the endpoint of the tools. A call of a tool also counts towards the rate of that tool. */
    mcp: { limit: 120, windowSeconds: 60 },
    /** Requests to the endpoint without a credential (reference §8.11). */
    handOffs: { limit: 60, windowSeconds: 60 },
    /** Requests to the endpoint of the tools for hosts with OAuth (reference §26.2). */
    connect: { limit: 120, windowSeconds: 60 },
    /** Requests to the page on which a person connects a host, and its buttons. */
    authorizations: { limit: 120, windowSeconds: 60 },
    /** Requests for tokens, and revocations. */
    oauthTokens: { limit: 60, windowSeconds: 60 },
    /** Wrong tokens of the operator on that page. Right ones do not count. */
    wrongTokens: { limit: 10, windowSeconds: 15 * 60 },
    /** Requests for a confirmation. */
    confirmations: { limit: 20, windowSeconds: 60 },
    /** Reads of receipts and confirmations, and cancellations. */
    reads: { limit: 60, windowSeconds: 60 },
    /** Every button of the confirmation page. */
    presses: { limit: 20, windowSeconds: 60 },
    /** Every use of an operator's sign-in button. */
    signIns: { limit: 20, windowSeconds: 60 },
    /** Every request of an operator for a link by mail. */
    signInMails: { limit: 10, windowSeconds: 15 * 60 },
    /** The page that confirms a subscription, and its button. */
    newsletter: { limit: 30, windowSeconds: 60 },
    /** Refused bodies over `refusedBodyBytes`, on all routes together (reference §3.6). */
    refusedBodies: { limit: 30, windowSeconds: 60 },
  },
  previewLifetimeMinutes: 10,
  /** Lifetime of a pending confirmation, of the buttons of an open page, and of a code (reference §17.5). */
  confirmationLifetimeMinutes: 60,
  pageLifetimeMinutes: 10,
  codeLifetimeMinutes: 10,
  idempotencyKeyLength: 200,
  /** Time in which a subscription must be confirmed (reference §9.1). */
  subscriptionLifetimeDays: 7,

  /** JSON bodies, on the agent routes and the form routes (reference §3.2). */
  jsonBodyBytes: 512 * 1024,
  /** Levels of objects and arrays in a JSON body, the outermost included (reference §3.2). */
  jsonDepth: 64,
  /** A refused body that is larger counts in the rate `refusedBodies`. The body of a native form must not be larger. */
  refusedBodyBytes: 32_000,
  /** Multipart bodies with more parts are not parsed. `fieldsPerRequest` is checked later, after the honeypot. */
  multipartParts: 100,
  /** Length of the address that the tool `prepare_form` returns, in characters (reference §8.11). */
  filledAddressLength: 8_000,
  /** Length of an originating site's slug (reference §2.8). */
  slugLength: 100,
} as const;
