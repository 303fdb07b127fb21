/**
 * Chance as a part, so that the simulator can own it: nothing else in `src` makes ids or random bytes
 * (`npm run check` sees to it).
 */
import { randomBytes, randomInt, randomUUID } from 'node:crypto';

/** Makes an id that nobody else has or can guess: a UUID. */
export type NewId = () => string;

/** From the randomness of the machine. */
export const newId: NewId = () => randomUUID();

/** So many bytes that nobody can guess. */
export function randomSecret(bytes: number): Buffer {
  return randomBytes(bytes);
}

/** A whole number from 0 up to a limit, which it never is; 0 where there is none. */
export function below(limit: number): number {
  return limit < 1 ? 0 : randomInt(limit);
}
