/** What the page of subscribers asks of `newsletter/`, which keeps them (beyond §6). */

export const subscriberStatuses = ['pending', 'confirmed', 'unsubscribed'] as const;

type Status = (typeof subscriberStatuses)[number];

export type Subscriber = {
  id: string;
  email: string;
  contractor: string | null;
  status: Status;
  created_at: string;
  confirmed_at: string | null;
  unsubscribed_at: string | null;
};

/** As `newsletter/listing.ts` lists them; `next` is fit for an address. Throws `StorageUnavailable`. */
export type ListSubscribers = (
  filter: { status?: Status | undefined; search?: string | undefined },
  limit: number,
  cursor?: string,
) => Promise<{ subscribers: Subscriber[]; next: string | undefined }>;
