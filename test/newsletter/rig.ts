/** The service before a programmable upstream, and a subscriber with their two links. */
import { expect } from 'vitest';
import type { Storage } from '../../src/storage/database.ts';
import type { SubscriberRow } from '../../src/storage/subscriber-schema.ts';
import { post } from '../support/forms.ts';
import { freshAddress } from '../support/service.ts';

/** A service in this process, or one of its own with its store opened beside it. */
type At = { url: string; parts: { storage: Pick<Storage, 'read'> } };
type Address = Pick<At, 'url'>;

let people = 0;

/** An address that nobody has used. */
export function reader(): string {
  people += 1;
  return `reader-${people}@example.com`;
}

/** Subscribes as a page's script does; returns the status of the answer. */
export async function subscribe(
  service: Address,
  email: string,
  contractor = 'acme',
): Promise<number> {
  const fields = { email, privacy: 'on', contractor };
  return (await post(service, '/api/subscribe', 'json', fields)).status;
}

/** The row of an address; undefined where there is none. */
export async function rowOf(service: At, email: string): Promise<SubscriberRow | undefined> {
  const [row] = await service.parts.storage.read((db) =>
    db.selectFrom('subscribers').selectAll().where('email', '=', email),
  );
  return row;
}

/** Who has just subscribed. */
export async function newSubscriber(service: At): Promise<SubscriberRow> {
  const email = reader();
  expect(await subscribe(service, email)).toBe(200);
  return (await rowOf(service, email)) ?? expect.fail();
}

/** Asks for one of their pages, or presses its button, as somebody new. */
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

/** How many messages wait for an address, or were sent to it. */
export async function messagesTo(service: At, email: string): Promise<number> {
  const rows = await service.parts.storage.read((db) =>
    db.selectFrom('messages').select('key').where('address', '=', email),
  );
  return rows.length;
}
