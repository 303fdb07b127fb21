/** The interface to the upstream: events and outcomes (reference §10.2). */
import type { FormName } from '../forms/catalog.ts';
import type { Fields } from '../forms/validate.ts';

export type SubscriberEvent = 'subscriber.created' | 'subscriber.confirmed' | 'subscriber.unsubscribed';

/** Additional data of an event about a subscriber of `/api/subscribe` (reference §9.3). */
export type SubscriberData = {
  status: 'pending' | 'confirmed' | 'unsubscribed';
  unsubscribe_url: string;
  /** Time of the last confirmation, and of the last unsubscribing, or null. Only later events have these fields. */
  confirmed_at?: string | null;
  unsubscribed_at?: string | null;
};

/** The body of the `POST` for an accepted submission. */
export type Event = {
  type: 'lead.created' | SubscriberEvent;
  timestamp: string;
  data: {
    /** Id of the submission, equal to `webhook-id` and `idempotency-key`. For an execution it is the `action_id`. */
    id: string;
    form: FormName;
    fields: Fields;
    recipient: { id: string; name: string } | null;
    origin: 'browser' | 'agent';
    client: string | null;
    consent_recorded_at: string | null;
    /** The doctor sent this event. The receiver verifies and answers it like any other, and does nothing else. */
    test?: true;
  } & Partial<SubscriberData>;
};

/** The id of an event and its body, byte for byte. */
export type Sent = { id: string; type: Event['type']; body: string };

/** `status` is the HTTP status of the answer. Without an answer, and in the embedded inbox, it is undefined. */
export type Outcome =
  /** `known`: the address is already on the list of subscribers. */
  | { kind: 'confirmed'; known: boolean; status?: number }
  | { kind: 'rejected'; status: number }
  | { kind: 'rateLimited'; retryAfterSeconds: number; status: number }
  /**
   * The reason is for the log, never for the caller. `unsent`: provably no byte was sent. `code`: code of the error that
   * ended the exchange.
   */
  | { kind: 'unconfirmed'; reason: string; unsent?: true; status?: number; code?: string };

export type Delivery = {
  /** Called right before the first byte. If it returns false, the outcome is unconfirmed. */
  mayStart(): boolean;
  traceparent?: string;
  /** Called with the time in the `Date` header of the answer, in milliseconds, or NaN if the answer has no `Date`. */
  onServerTime?(time: number): void;
};

/** A receiver that is called over HTTP. */
export type RemoteUpstream = {
  embedded: false;
  deliver(sent: Sent, delivery: Delivery): Promise<Outcome>;
  close(): Promise<void>;
};

/** The embedded inbox is the service's own table. A row there is delivered. */
export type Upstream = RemoteUpstream | { embedded: true };
