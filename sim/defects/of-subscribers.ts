/** Defects of a subscriber's two links (reference §9). */
import type { Defect } from './defect.ts';

const QUERIES = 'src/newsletter/subscriber-queries.ts';

export const defectsOfSubscribers: readonly Defect[] = [
  {
    name: 'confirming a subscription is not a conditional update',
    edits: [
      {
        file: QUERIES,
        find: "        .where('status', '=', 'pending')\n        .where('expires_at', '>', of.now),",
        replace: '',
      },
    ],
  },
  {
    name: 'a subscriber’s event is stored after the commit of the state',
    edits: [
      {
        file: 'src/newsletter/confirm-and-unsubscribe.ts',
        find: 'await tx.change(submissions.queries.insert(event));',
        replace: 'clock.after(1, () => void storage.write(submissions.queries.insert(event)).catch(() => {}));',
      },
    ],
  },
  {
    name: 'a subscription is forwarded while the database is unavailable',
    edits: [
      {
        file: 'src/submissions/deliver.ts',
        find: "      if (join !== undefined) throw new StorageUnavailable('A subscription could not be stored.');\n",
        replace:
          '      if (join !== undefined) submission.event = submission.event.replace("consent_recorded_at", \'unsubscribe_url":"","consent_recorded_at\');\n',
      },
    ],
  },
  {
    name: 'a confirmed subscriber becomes pending again',
    edits: [
      {
        file: QUERIES,
        find: "status: unlessConfirmed('status'),",
        replace: "status: old.ref('excluded.status'),",
      },
    ],
  },
];
