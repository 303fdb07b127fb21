/** Signed receipts as others verify them: `jose` the signature, `@sd-jwt/core` the disclosures. */
import { createPublicKey, generateKeyPairSync, hash } from 'node:crypto';
import { SDJwt } from '@sd-jwt/core';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { type Answer, call, executeAction, previewId } from './agent.ts';
import { type Service, tokens } from './service.ts';

/** A private key of P-256, as the setting takes it. */
export function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}

/** The public half of it. */
export function publicOf(privateKey: string): string {
  return createPublicKey(privateKey).export({ format: 'pem', type: 'spki' }).toString();
}

/** GET of a receipt. */
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

/** Executes once; returns the `action_id`. */
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

/** The keys that the service publishes. */
export async function keysOf({ url }: Pick<Service, 'url'>): Promise<JSONWebKeySet> {
  return (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as JSONWebKeySet;
}

/** Takes the body of a receipt and the keys; returns what others verify it to say. Throws where they refuse it. */
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
