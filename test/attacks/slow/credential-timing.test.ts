/** The duration of a check reveals nothing about how close a guess was (ASVS 11.2.4). */

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openPreview, sealPreview } from '../../../src/actions/preview-token.ts';
import { checkBearer, openCredentials } from '../../../src/credentials/file.ts';
import { openLog } from '../../../src/platform/log.ts';
import { testClock } from '../../support/clock.ts';
import { mannWhitney } from '../../support/mann-whitney.ts';
import { temporaryFolder } from '../../support/process.ts';
import { credentials, tokens } from '../../support/service.ts';

const EACH = 1_000;
/** Checks of one measurement. A single check takes less than a microsecond. */
const CHECKS = 40;

type Check = (round: number) => unknown;

/** Times each kind equally often, in random order. A kind gets the number of the round. */
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
  // Discard the first times, which include compilation.
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
 * Fails if two kinds can be told apart. The place of guesses in memory and a busy machine cause differences, too.
 * Each repetition therefore has new guesses.
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

/** Returns a guess for each place and round, with three wrong characters at that place. No two have the same digest. */
function guessesAt(secret: string, places: number[]): string[][] {
  const guesses: string[][] = places.map(() => []);
  for (let round = 0; round < EACH; round += 1) {
    // Guesses of a round are made together in random order, so that none has a better place in memory.
    for (const place of shuffled(places.keys())) {
      const at = places[place] ?? 0;
      const wrong = Array.from(randomBytes(3), (byte) => ALPHABET[byte & 63]).join('');
      // A flat string, because the first reader of a concatenated string flattens it.
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

  test('a check takes equally long if the signature is wrong in its first or in its last characters', () => {
    const places = [signatureAt, signatureAt + 20, preview.length - 4];
    expectAlike(() =>
      guessesAt(preview, places).map((guesses) => (round) => openPreview([key], guesses[round] ?? '', clock.now())),
    );
  });

  test('a check takes equally long if the token is wrong in its first or in its last characters', () => {
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

  test('the measurement detects a comparison that ends at the first wrong character', () => {
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
