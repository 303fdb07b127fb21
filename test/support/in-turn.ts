/**
 * What takes long and rarely finds anything: CI tries one in so many for each state of the tree, by its seed; without
 * one, all.
 */
export function inTurn<T>(all: readonly T[], oneIn: number): T[] {
  const seed = process.env.PROPERTY_SEED;
  return seed === undefined ? [...all] : all.filter((_, at) => (at + Number(seed)) % oneIn === 0);
}
