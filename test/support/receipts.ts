/** Verifies signed receipts with independent libraries: `jose` for signatures, `@sd-jwt/core` for disclosures. */
import { createPublicKey, generateKeyPairSync, hash } from 'node:crypto';
import { SDJwt } from '@sd-jwt/core';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { type Answer, call, executeAction, previewId } from './agent.ts';
import { type Service, tokens } from './service.ts';

/** Returns a private P-256 key in the format of the setting. */
export function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}

/** Returns the public key of a private key. */
export function publicOf(privateKey: string): string {
  return createPublicKey(privateKey).export({ format: 'pem', type: 'spki' }).toString();
}

/** Requests a receipt with GET. */
export function getReceipt(
  service: Pick<Service, 'url'>,
  actionId: string,
  token: string | null = tokens.both,
): Promise<Answer> {
  return call(service, `/api/agent/receipts/${actionId}`, {
    method: 'GET',
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
  });
}

/** Executes once and returns the `action_id`. */
export async function execute(
  service: Pick<Service, 'url'>,
  action = 'homeowner_quote',
  fields?: unknown,
): Promise<string> {
  const { body } = await executeAction(service, await previewId(service, action, fields), {
    action,
  });
  return body.receipt.action_id;
}

/** Returns the keys that the service publishes. */
export async function keysOf({ url }: Pick<Service, 'url'>): Promise<JSONWebKeySet> {
  return (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as JSONWebKeySet;
}

/** Verifies the body of a receipt with the libraries and returns its claims. Throws if they reject it. */
export async function verifyElsewhere(
  body: { signed_receipt: string; disclosures: string[] },
  keys: JSONWebKeySet,
  issuer: string | string[],
) {
  const [jwt = ''] = body.signed_receipt.split('~');
  const { payload, protectedHeader } = await jwtVerify(jwt, createLocalJWKSet(keys), {
    algorithms: ['ES256'],
    typ: 'agent-receipt+sd-jwt',
    issuer,
  });
  const hasher = (data: string | ArrayBuffer, algorithm: string) =>
    new Uint8Array(hash(algorithm.replace('-', ''), Buffer.from(data as string), 'buffer'));
  const whole = body.signed_receipt + body.disclosures.map((each) => `${each}~`).join('');
  const decoded = await SDJwt.fromEncode(whole, hasher);
  return { header: protectedHeader, payload, shown: await decoded.getClaims(hasher) };
}
