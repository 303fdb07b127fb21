/** Defects of the outbox. */
import type { Defect } from './defect.ts';

const OUTBOX = 'src/mail/outbox.ts';
const OUTBOX_QUERIES = 'src/mail/outbox-rows.ts';
const DAILY_CAP = 'src/mail/messages.ts';

export const defectsOfMessages: readonly Defect[] = [
  {
    name: 'a message is marked as sent before the send',
    edits: [
      {
        file: OUTBOX,
        find: '    const result = await send(row, claimedAt);\n',
        replace: "    await conclude(row, 'sent');\n    const result = await send(row, claimedAt);\n",
      },
    ],
  },
  {
    // The simulator found this defect in the source.
    name: 'only the wall clock decides whether an attempt is in progress',
    edits: [
      {
        file: OUTBOX_QUERIES,
        find: "row('attempt_started_ms', 'is', null),",
        replace: "row('key', 'is not', null),",
      },
    ],
  },
  {
    name: 'a pause during the claim of a message is not detected',
    edits: [
      {
        file: OUTBOX,
        find: '      const claimedAt = clock.monotonic();\n      const row = await rows.claim();\n',
        replace: '      const row = await rows.claim();\n      const claimedAt = clock.monotonic();\n',
      },
    ],
  },
  {
    name: 'permanent refusals do not count towards the budget',
    edits: [
      {
        file: OUTBOX_QUERIES,
        find: "['pending', 'sent', 'dead'])\n      .where('next_attempt_at'",
        replace: "['pending', 'sent'])\n      .where('next_attempt_at'",
      },
    ],
  },
  {
    name: 'an address with a plus-tag counts as another mailbox',
    edits: [{ file: DAILY_CAP, find: ".replace(/\\+.*/s, '')", replace: '' }],
  },
  {
    // The simulator found this defect in the source.
    name: 'a pause while a message is rendered is not detected',
    edits: [
      {
        file: OUTBOX,
        find: "      if (clock.monotonic() - claimedAt > START_WITHIN_MS) return { kind: 'late' };\n",
        replace: '',
      },
    ],
  },
  {
    name: 'after a restart, a message waits for as long as the machine ran before',
    edits: [
      {
        file: OUTBOX_QUERIES,
        find: "      row('attempt_started_ms', '>', leaseClock),\n",
        replace: '',
      },
    ],
  },
];
