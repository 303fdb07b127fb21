/** The kinds of message, and how one is written to be sent (beyond §2). Times are ISO 8601 text. */
import type { Storage } from '../storage/database.ts';
import { prepareChange } from '../storage/prepare-query.ts';
import type { MessageKind, MessageRow } from '../storage/schema.ts';
import type { Letter } from './mail.ts';

/** Less comes first: newsletter mail waits for what somebody waits for on a page, the operator for both. */
export const PRIORITY: Readonly<Record<MessageKind, MessageRow['priority']>> = {
  code: 0,
  confirmation: 1,
  notice: 2,
  notice_summary: 2,
  alert: 2,
};

/** In the order in which they are sent. */
export const PRIORITIES = [0, 1, 2] as const;

/** What a message says, and to whom. */
type AddressedLetter = Letter & { address: string };

/** Takes a message that is about to be sent; undefined where there is nothing to say any more: its row goes. */
export type Render = (row: MessageRow) => Promise<AddressedLetter | undefined>;

export type NewMessage = {
  kind: MessageKind;
  key: string;
  about: string | null;
  message_id: string;
  status: 'new' | 'pending';
  now: string;
};

/** Keeps a message whose address a setting names; changes nothing where one of that kind and key is kept. */
export function prepareMessage(storage: Storage) {
  const add = prepareChange(storage, (db, of: NewMessage & { priority: MessageRow['priority'] }) =>
    db
      .insertInto('messages')
      .values({
        kind: of.kind,
        key: of.key,
        address: null,
        about: of.about,
        priority: of.priority,
        message_id: of.message_id,
        status: of.status,
        requested_at: of.now,
        attempts: 0,
        next_attempt_at: of.now,
        last_attempt_at: null,
        attempt_started_ms: null,
      })
      .onConflict((conflict) => conflict.doNothing()),
  );
  return (message: NewMessage) => add({ ...message, priority: PRIORITY[message.kind] });
}
