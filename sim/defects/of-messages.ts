/** Defects of the outbox. */
import type { Defect } from './defect.ts';

const OUTBOX = 'src/mail/outbox.ts';
const OUTBOX_QUERIES = 'src/mail/outbox-rows.ts';
const DAILY_CAP = 'src/mail/messages.ts';

export const defectsOfMessages: readonly Defect[] = [
  {
    name: 'a message is marked before it is sent',
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
    name: 'an attempt is under way by the wall clock alone',
    edits: [
      {
        file: OUTBOX_QUERIES,
        find: "row('attempt_started_ms', 'is', null),",
        replace: "row('key', 'is not', null),",
      },
    ],
  },
  {
    name: 'a pause inside the take is not seen',
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
    name: 'a plus-tag makes another mailbox',
    edits: [{ file: DAILY_CAP, find: ".replace(/\\+.*/s, '')", replace: '' }],
  },
  {
    // The simulator found this defect in the source.
    name: 'a pause while a message is written is not seen',
    edits: [
      {
        file: OUTBOX,
        find: "      if (clock.monotonic() - claimedAt > START_WITHIN_MS) return { kind: 'late' };\n",
        replace: '',
      },
    ],
  },
  {
    name: 'a message of before a restart rests until the machine is up as long again',
    edits: [
      {
        file: OUTBOX_QUERIES,
        find: "      row('attempt_started_ms', '>', leaseClock),\n",
        replace: '',
      },
    ],
  },
];
