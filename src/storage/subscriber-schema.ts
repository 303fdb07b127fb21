/** Beyond §6. */
export type SubscriberStatus = 'pending' | 'confirmed' | 'unsubscribed';

/** One row per address that `/api/subscribe` was given (beyond §6). Times are ISO 8601 of the process's wall clock. */
export type SubscriberRow = {
  id: string;
  email: string;
  /** The slug of the originating site (spec §2.5). */
  contractor: string;
  status: SubscriberStatus;
  /** The submission whose commit made the row. */
  made_by: string;
  /** Kept as they are: they can only confirm or leave, and stand in messages and events. */
  confirm_token: string;
  leave_token: string;
  created_at: string;
  consent_recorded_at: string;
  /** When a pending one's links are dead; null of all others. */
  expires_at: string | null;
  confirmed_at: string | null;
  unsubscribed_at: string | null;
};

export type SubscriberTables = { subscribers: SubscriberRow };
