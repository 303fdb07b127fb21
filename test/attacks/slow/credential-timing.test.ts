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

type Check = (round: number) => unknown;

/** Times each kind the same number of times, in a drawn order; a kind gets the number of the round. */
function measure(kinds: Check[]): number[][] {
  const times: number[][] = kinds.map(() => []);
  const run = () => {
    for (let round = 0; round < EACH; round += 1) {
      for (const kind of shuffled(kinds.keys())) {
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

function shuffled(of: Iterable<number>): number[] {
  return Array.from(of, (value) => ({ value, draw: Math.random() }))
    .sort((left, right) => left.draw - right.draw)
    .map(({ value }) => value);
}

/**
 * Whether two of them can be told apart. Where guesses lie in memory makes a difference of its own,
 * and so does a busy moment of the machine: each further chance has new guesses.
 */
function expectAlike(draw: () => Check[]): void {
  const scores: number[] = [];
  do {
    const [first = [], ...others] = measure(draw());
    scores.push(Math.max(...others.map((other) => Math.abs(mannWhitney(first, other)))));
  } while (scores.length < 5 && (scores.at(-1) ?? 0) >= 4);
  expect(Math.min(...scores)).toBeLessThan(4);
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** For each place a guess a round, wrong in three characters from there on: no two have one digest. */
function guessesAt(secret: string, places: number[]): string[][] {
  const guesses: string[][] = places.map(() => []);
  for (let round = 0; round < EACH; round += 1) {
    // Those of one round are made together, in a drawn order: none lies better in memory than another.
    for (const place of shuffled(places.keys())) {
      const at = places[place] ?? 0;
      const wrong = Array.from(randomBytes(3), (byte) => ALPHABET[byte & 63]).join('');
      // As one piece: a text that is put together is flattened by whoever reads it first.
      const guess = Buffer.from(secret.slice(0, at) + wrong + secret.slice(at + 3)).toString();
      guesses[place]?.push(guess);
    }
  }
  return guesses;
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
    expectAlike(() =>
      guessesAt(preview, places).map(
        (guesses) => (round) => openPreview([key], guesses[round] ?? '', clock.now()),
      ),
    );
  });

  test('a token that is wrong in its first or in its last characters takes as long', () => {
    const path = join(temporaryFolder(), 'agents.json');
    writeFileSync(path, JSON.stringify(credentials));
    const held = openCredentials({ path, clock, log: openLog('silent') });
    const places = [0, 7, tokens.both.length - 3];
    expectAlike(() =>
      guessesAt(tokens.both, places)
        .map((guesses) => guesses.map((guess) => [`Bearer ${guess}`]))
        .map((headers) => (round) => checkBearer(held, headers[round] ?? [])),
    );
    held.close();
  });

  test('the test would see a difference: a comparison that ends early', () => {
    const secret = 'x'.repeat(2_000);
    const early = (guess: string) => {
      for (let at = 0; at < secret.length; at += 1) if (guess[at] !== secret[at]) return false;
      return true;
    };
    const [first = [], last = []] = measure(
      guessesAt(secret, [0, 1_990]).map((guesses) => (round) => early(guesses[round] ?? '')),
    );
    expect(Math.abs(mannWhitney(first, last))).toBeGreaterThan(10);
  });
});
