/** Random values from a seed, so that a run's schedule can be repeated. */
export type Random = {
  /** Returns a number from 0 up to, but not including, 1. */
  next(): number;
  between(least: number, most: number): number;
  whole(least: number, most: number): number;
  pick<T>(from: readonly T[]): T;
  chance(probability: number): boolean;
  bytes(count: number): Buffer;
  /** Returns an independent sequence. Draws from it do not change other sequences. */
  fork(name: string): Random;
};

/** Returns the sequence of a seed (mulberry32). */
export function seeded(seed: string): Random {
  let state = hash(seed);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const between = (least: number, most: number) => least + next() * (most - least);
  const whole = (least: number, most: number) => Math.floor(between(least, most + 1));
  return {
    next,
    between,
    whole,
    pick: (from) => {
      const picked = from[whole(0, from.length - 1)];
      if (picked === undefined) throw new Error('There is nothing to pick from.');
      return picked;
    },
    chance: (probability) => next() < probability,
    bytes: (count) => Buffer.from(Array.from({ length: count }, () => whole(0, 255))),
    fork: (name) => seeded(`${seed}/${name}`),
  };
}

/** Returns the FNV-1a hash. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193);
  return value;
}
