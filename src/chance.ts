/**
 * Chance as a part, so that the simulator can own it: nothing else in `src` makes ids or random bytes
 * (`npm run check` sees to it).
 */
import { generateKeyPairSync, randomBytes, randomInt, randomUUIDv7 } from 'node:crypto';

/** Makes an id that nobody else has or can guess: a UUID of version 7, so that an index of ids is appended to. */
export type NewId = () => string;

/** From the randomness of the machine. */
export const newId: NewId = () => randomUUIDv7();

/** So many bytes that nobody can guess. */
export function randomSecret(bytes: number): Buffer {
  return randomBytes(bytes);
}

/** A whole number from 0 up to a limit, which it never is; 0 where there is none. */
export function below(limit: number): number {
  return limit < 1 ? 0 : randomInt(limit);
}

/** A new private key of P-256, as a PEM block of PKCS #8. */
export function newPrivateKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}
