/** Runs the command lines of `inbox` in `transcripts`, and compares all that they print (`npx vitest run transcripts`). */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, vi } from 'vitest';
import { keepRows, submissionRow } from '../support/submissions.ts';
import { expectTranscript, folderWith, id } from './transcript.ts';

vi.setConfig({ testTimeout: 60_000 });

/** Submissions of every kind that a list can show, each a minute later than the one before. */
const submissions = [
  submissionRow({ id: id(1), receivedAt: '2026-09-01T12:01:00.000Z', stored_here: 1 }),
  submissionRow({
    id: id(2),
    receivedAt: '2026-09-01T12:02:00.000Z',
    form: 'homeowner_quote',
    origin: 'agent',
    status: 'undelivered',
    reason: 'execution_failed',
    progress: 'answered',
    note: 'Called,\tno answer.\nCall again.',
    attempts: [
      { outcome: 'unconfirmed', ms: 9, http_status: 503 },
      { outcome: 'unconfirmed', ms: 10_000, http_status: null },
    ],
    fields: {
      name: 'Ada Augusta King of Lovelace, the Countess',
      email: `ada@${'long-name.'.repeat(5)}xn--pple-43d.example`,
      postal_code: '1000',
      phone: '+1 555 0100',
    },
    data: {
      recipient: { id: 'c-1', name: 'Painters, Ltd' },
      client: 'acme',
      consent_recorded_at: '2026-09-01T12:00:00.000Z',
    },
  }),
  submissionRow({
    id: id(3),
    receivedAt: '2026-09-01T12:03:00.000Z',
    status: 'waiting',
    next_attempt_ms: Date.parse('2026-09-01T12:30:00.000Z'),
    attempts: [{ outcome: 'rateLimited', ms: 1, http_status: 429 }],
    fields: { name: 'Eve', email: 'eve@example.com', subject: 'Red\nand blue', message: 'One\n\ttwo' },
  }),
  submissionRow({
    id: id(4),
    receivedAt: '2026-09-01T12:04:00.000Z',
    form: 'newsletter',
    status: 'undelivered',
    reason: 'attempts_used_up',
    fields: { email: 'reader@example.com' },
  }),
  submissionRow({
    id: id(5),
    receivedAt: '2026-09-01T12:05:00.000Z',
    status: 'dismissed',
    reason: 'spam',
    progress: 'spam',
  }),
  submissionRow({ id: id(6), receivedAt: '2026-09-01T12:06:00.000Z', status: 'sending', progress: 'won' }),
];

async function inboxFolder() {
  const folder = await folderWith((storage) => keepRows(storage, submissions));
  mkdirSync(join(folder, 'data/mail'));
  for (const [name, to] of Object.entries({ one: 'eve', two: 'eve', three: 'ada' })) {
    writeFileSync(join(folder, `data/mail/${name}.eml`), `To: ${to}@example.com\r\n\r\nHello`);
  }
  return folder;
}

test('inbox list and show print what their transcripts have', async () => {
  await expectTranscript('inbox-empty', await folderWith(async () => {}));
  await expectTranscript('inbox', await inboxFolder(), { OPERATOR_TIME_ZONE: 'Europe/Berlin' });
});

test('inbox export, dismiss and resend print what their transcript has', async () => {
  await expectTranscript('inbox-export', await inboxFolder(), { OPERATOR_TIME_ZONE: 'Europe/Berlin' });
});
