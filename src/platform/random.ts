/** Random values and ids. No other file in `src` makes random values, so that the simulator can replace them. */
import { generateKeyPairSync, randomInt as nodeRandomInt, randomBytes, randomUUIDv7 } from 'node:crypto';

/** Returns a UUID of version 7. Nobody can guess it, and an index of such ids only grows at its end. */
export type NewId = () => string;

export const newId: NewId = () => randomUUIDv7();

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Returns true if a text is spelled like an id that `NewId` makes. The store has no other ids. */
export function isId(text: string): boolean {
  return UUID.test(text);
}

export function randomSecret(bytes: number): Buffer {
  return randomBytes(bytes);
}

/** Returns a whole number from 0 to `limit` - 1, or 0 if `limit` is less than 1. */
export function randomInt(limit: number): number {
  return limit < 1 ? 0 : nodeRandomInt(limit);
}

/** Returns a new private key of P-256, as a PEM block of PKCS #8. */
export function newPrivateKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}
