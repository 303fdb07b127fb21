/** The time of a check of a secret says nothing of how near a guess was (ASVS 11.2.4). */

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openPreview, sealPreview } from '../../../src/actions/preview-token.ts';
import { checkBearer } from '../../../src/credentials/check.ts';
import { openCredentials } from '../../../src/credentials/file.ts';
import { openLog } from '../../../src/operations/log.ts';
import { testClock } from '../../support/clock.ts';
import { mannWhitney } from '../../support/mann-whitney.ts';
import { temporaryFolder } from '../../support/process.ts';
import { credentials, tokens } from '../../support/service.ts';

const EACH = 1_000;
/** So many checks are one measurement: a single one is under a microsecond. */
const CHECKS = 40;

/** Times each kind the same number of times, in no order; a kind gets the number of the round. */
function measure(kinds: ((round: number) => unknown)[]): number[][] {
  const times: number[][] = kinds.map(() => []);
  const run = () => {
    for (let round = 0; round < EACH; round += 1) {
      const first = Math.floor(Math.random() * kinds.length);
      for (let n = 0; n < kinds.length; n += 1) {
        const kind = (first + n) % kinds.length;
        const startedAt = performance.now();
        for (let check = 0; check < CHECKS; check += 1) kinds[kind]?.(round);
        times[kind]?.push(performance.now() - startedAt);
      }
    }
  };
  run();
  // The first ones are the compiler's.
  for (const each of times) each.length = 0;
  run();
  return times;
}

/** Whether two of them can be told apart; a busy moment of the machine gets another chance. */
function expectAlike(kinds: ((round: number) => unknown)[]): void {
  const scores: number[] = [];
  do {
    const [first = [], ...others] = measure(kinds);
    scores.push(Math.max(...others.map((other) => Math.abs(mannWhitney(first, other)))));
  } while (scores.length < 3 && (scores.at(-1) ?? 0) >= 4);
  expect(Math.min(...scores)).toBeLessThan(4);
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** A guess for each round, wrong in three characters from there on: no two have one digest. */
function guessesAt(secret: string, at: number): string[] {
  return Array.from({ length: EACH }, () => {
    const wrong = Array.from(randomBytes(3), (byte) => ALPHABET[byte & 63]).join('');
    // As one piece: a text that is put together is flattened by whoever reads it first.
    return Buffer.from(secret.slice(0, at) + wrong + secret.slice(at + 3)).toString();
  });
}

describe('timing of credential and token checks', () => {
  const clock = testClock();
  const key = Buffer.alloc(32, 7);
  const preview = sealPreview([key], {
    action: 'contact',
    fields: { name: 'Ada' },
    destination: 'x',
    createdAt: clock.now().getTime(),
  });
  const signatureAt = preview.indexOf('.') + 1;

  test('a signature that is wrong in its first or in its last characters takes as long', () => {
    const places = [signatureAt, signatureAt + 20, preview.length - 4];
    const guesses = places.map((at) => guessesAt(preview, at));
    expectAlike(guesses.map((of) => (round) => openPreview([key], of[round] ?? '', clock.now())));
  });

  test('a token that is wrong in its first or in its last characters takes as long', () => {
    const path = join(temporaryFolder(), 'agents.json');
    writeFileSync(path, JSON.stringify(credentials));
    const held = openCredentials({ path, clock, log: openLog('silent') });
    const places = [0, 7, tokens.both.length - 3];
    const guesses = places.map((at) =>
      guessesAt(tokens.both, at).map((guess) => [`Bearer ${guess}`]),
    );
    expectAlike(guesses.map((of) => (round) => checkBearer(held, of[round] ?? [])));
    held.close();
  });

  test('the test would see a difference: a comparison that ends early', () => {
    const secret = 'x'.repeat(2_000);
    const early = (guess: string) => {
      for (let at = 0; at < secret.length; at += 1) if (guess[at] !== secret[at]) return false;
      return true;
    };
    const [near, far] = [guessesAt(secret, 1_990), guessesAt(secret, 0)];
    const [first = [], last = []] = measure([
      (round) => early(far[round] ?? ''),
      (round) => early(near[round] ?? ''),
    ]);
    expect(Math.abs(mannWhitney(first, last))).toBeGreaterThan(10);
  });
});
