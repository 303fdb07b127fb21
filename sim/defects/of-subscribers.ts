/** Defects of what a subscriber's two links do (beyond §6). */
import type { Defect } from './defect.ts';

const QUERIES = 'src/newsletter/subscriber-queries.ts';

export const defectsOfSubscribers: readonly Defect[] = [
  {
    name: 'a confirmation that is not conditional',
    edits: [
      {
        file: QUERIES,
        find: "        .where('status', '=', 'pending')\n        .where('expires_at', '>', of.now),",
        replace: '',
      },
    ],
  },
  {
    name: 'the event of a subscriber is kept after the commit of their state',
    edits: [
      {
        file: 'src/newsletter/press.ts',
        find: 'await tx.change(submissions.queries.keep(event));',
        replace:
          'clock.after(1, () => void storage.write(submissions.queries.keep(event)).catch(() => {}));',
      },
    ],
  },
  {
    name: 'a subscription is forwarded while the store is away',
    edits: [
      {
        file: 'src/submissions/accept.ts',
        find: "      if (join !== undefined) throw new StorageUnavailable('A subscription could not be kept.');\n",
        replace:
          '      if (join !== undefined) kept.event = eventOf({ ...submission, subscriber: { id: "", event: "subscriber.created", data: { status: "pending", unsubscribe_url: "" } } }, parties, now).body;\n',
      },
    ],
  },
  {
    name: 'who has confirmed is pending again',
    edits: [
      {
        file: QUERIES,
        find: "status: unlessConfirmed('status'),",
        replace: "status: row.ref('excluded.status'),",
      },
    ],
  },
];
