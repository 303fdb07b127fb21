/** The port through which an accepted submission leaves: events, outcomes, contract §3. */
import type { FormName } from '../forms/catalog.ts';
import type { Fields } from '../forms/validate.ts';

type EventType = 'lead.created' | SubscriberEvent;

export type SubscriberEvent =
  | 'subscriber.created'
  | 'subscriber.confirmed'
  | 'subscriber.unsubscribed';

/** What the data of an event says of a subscriber of `/api/subscribe`, beside what all have (beyond §6). */
export type SubscriberData = {
  status: 'pending' | 'confirmed' | 'unsubscribed';
  unsubscribe_url: string;
  /** Of what came after the subscription: when each last was so, or null. */
  confirmed_at?: string | null;
  unsubscribed_at?: string | null;
};

/** The body of the one `POST` for an accepted submission. */
export type Event = {
  type: EventType;
  timestamp: string;
  data: {
    /** Equal to `webhook-id` and `idempotency-key`; of an execution, its `action_id`. */
    id: string;
    form: FormName;
    fields: Fields;
    recipient: { id: string; name: string } | null;
    origin: 'browser' | 'agent';
    client: string | null;
    consent_recorded_at: string | null;
    /** Sent by the doctor: to be verified and answered as any other, and nothing more. */
    test?: true;
  } & Partial<SubscriberData>;
};

/** What leaves: the body, byte for byte, of the event with that id. */
export type Sent = { id: string; type: Event['type']; body: string };

export type Outcome =
  /** `known`: the address of a subscriber was on the list already. */
  | { kind: 'confirmed'; known: boolean }
  | { kind: 'rejected'; status: number }
  | { kind: 'rateLimited'; retryAfterSeconds: number }
  /**
   * The reason is for the log, never for the caller; `unsent`: not one byte has left, that is proven; `answered`:
   * by a status that confirms nothing.
   */
  | { kind: 'unconfirmed'; reason: string; unsent?: true; answered?: true };

export type Delivery = {
  /** Asked with nothing awaited before the first byte: a send that may not start is unconfirmed. */
  mayStart(): boolean;
  traceparent?: string;
  /** Told the clock of the other side by its answer, in milliseconds; NaN where it names none. */
  heardTime?(time: number): void;
};

/** Somebody else's server. */
export type RemoteUpstream = {
  embedded: false;
  deliver(sent: Sent, delivery: Delivery): Promise<Outcome>;
  /** Loads what a delivery needs, where that was left for after the start. */
  prepare(): void;
  close(): Promise<void>;
};

/** The embedded inbox is our own table: what is kept there is delivered. */
export type Upstream = RemoteUpstream | { embedded: true };
