/** Requests of subscribers: subscribing, confirming and unsubscribing. */
import { expect } from 'vitest';
import type { Storage } from '../../src/storage/database.ts';
import type { SubscriberRow } from '../../src/storage/schema.ts';
import { post } from '../support/forms.ts';
import { freshAddress } from '../support/service.ts';

/** A service in this process, or a separate process whose store the test opened too. */
type At = { url: string; parts: { storage: Pick<Storage, 'read'> } };
type Address = Pick<At, 'url'>;

let people = 0;

/** Returns a new e-mail address. */
export function reader(): string {
  people += 1;
  return `reader-${people}@example.com`;
}

/** Subscribes as a page's script does, and returns the status of the answer. */
export async function subscribe(service: Address, email: string, contractor = 'acme'): Promise<number> {
  const fields = { email, privacy: 'on', contractor };
  return (await post(service, '/api/subscribe', 'json', fields)).status;
}

/** Returns the row of an address, or undefined if there is none. */
export async function rowOf(service: At, email: string): Promise<SubscriberRow | undefined> {
  const [row] = await service.parts.storage.read((db) =>
    db.selectFrom('subscribers').selectAll().where('email', '=', email),
  );
  return row;
}

/** Subscribes a new address and returns its row. */
export async function newSubscriber(service: At): Promise<SubscriberRow> {
  const email = reader();
  expect(await subscribe(service, email)).toBe(200);
  return (await rowOf(service, email)) ?? expect.fail();
}

/** Requests a subscriber's page, or posts its button, from a new client address. */
export function ask(
  service: Address,
  link: 'confirm' | 'leave',
  token: string,
  init: RequestInit = {},
): Promise<Response> {
  const headers = { 'x-forwarded-for': freshAddress(), ...init.headers };
  const url = `${service.url}/newsletter/${link}/${token}`;
  return fetch(url, { redirect: 'manual', ...init, headers });
}

export const confirm = (service: Address, { confirm_token }: SubscriberRow) =>
  ask(service, 'confirm', confirm_token, { method: 'POST' });

export const leave = (service: Address, { leave_token }: SubscriberRow) =>
  ask(service, 'leave', leave_token, { method: 'POST' });

/** Returns the number of messages to an address, pending or sent. */
export async function messagesTo(service: At, email: string): Promise<number> {
  const rows = await service.parts.storage.read((db) =>
    db.selectFrom('messages').select('key').where('address', '=', email),
  );
  return rows.length;
}
