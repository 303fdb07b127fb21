/** Reads the messages between a process and PostgreSQL from its sockets, and reports the start and end of each statement. */
import { Socket } from 'node:net';

type Watcher = {
  /** Called after a statement without parameters was sent on this connection. */
  sent(connection: object, sql: string): void;
  /** Called after a statement has succeeded. `isTransaction` is true if its connection is inside a transaction. */
  answered(connection: object, sql: string, isTransaction: boolean): void;
};

/** A connection: incomplete messages of both sides, statements by name, and the running statement. */
type Conversation = { asked: Buffer; told: Buffer; texts: Map<string, string>; sql: string | undefined };

/** Returns true for the first message of a client: its length, then version 3.0 of the protocol. */
const isStartup = (bytes: Buffer) => bytes.length > 8 && bytes.readInt32BE(4) === 0x3_0000;

const empty = Buffer.alloc(0);

/** Watches every connection that starts after this call. */
export function watchPostgres({ sent, answered }: Watcher): void {
  const conversations = new WeakMap<Socket, Conversation>();
  const { write, push } = Socket.prototype;

  /** Records the statement in a message of the client. */
  function ask(conversation: Conversation, kind: string, body: Buffer): void {
    const { texts } = conversation;
    if (kind === 'Q') conversation.sql = textAt(body, 0).text;
    if (kind === 'P') {
      const name = textAt(body, 0);
      texts.set(name.text, textAt(body, name.end).text);
    }
    if (kind === 'B') conversation.sql = texts.get(textAt(body, textAt(body, 0).end).text);
    if (kind === 'Q') sent(conversation, conversation.sql ?? '');
  }

  function tell(conversation: Conversation, kind: string, body: Buffer): void {
    if (kind === 'E') conversation.sql = undefined;
    // The server is ready for the next statement. `I` means that no transaction is open.
    if (kind !== 'Z' || conversation.sql === undefined) return;
    const { sql } = conversation;
    conversation.sql = undefined;
    answered(conversation, sql, body.toString('latin1') !== 'I');
  }

  Socket.prototype.write = function (this: Socket, ...given: unknown[]) {
    const [bytes] = given;
    const result = (write as (...given: unknown[]) => boolean).apply(this, given);
    if (!Buffer.isBuffer(bytes)) return result;
    const conversation = conversations.get(this);
    if (conversation === undefined && isStartup(bytes)) {
      conversations.set(this, { asked: empty, told: empty, texts: new Map(), sql: undefined });
    } else if (conversation !== undefined) {
      conversation.asked = eachMessage(Buffer.concat([conversation.asked, bytes]), (kind, body) =>
        ask(conversation, kind, body),
      );
    }
    return result;
  };

  Socket.prototype.push = function (this: Socket, bytes: unknown, encoding?: BufferEncoding) {
    const result = push.call(this, bytes, encoding);
    const conversation = conversations.get(this);
    if (conversation !== undefined && Buffer.isBuffer(bytes)) {
      conversation.told = eachMessage(Buffer.concat([conversation.told, bytes]), (kind, body) =>
        tell(conversation, kind, body),
      );
    }
    return result;
  };
}

/** Calls back with kind and body of each whole message. Returns the remaining bytes. */
function eachMessage(bytes: Buffer, found: (kind: string, body: Buffer) => void): Buffer {
  let at = 0;
  while (bytes.length >= at + 5) {
    const end = at + 1 + bytes.readInt32BE(at + 1);
    if (bytes.length < end) break;
    found(bytes.toString('latin1', at, at + 1), bytes.subarray(at + 5, end));
    at = end;
  }
  return bytes.subarray(at);
}

/** Returns the text up to a zero byte, and the position after that byte. */
function textAt(bytes: Buffer, from: number): { text: string; end: number } {
  const end = bytes.indexOf(0, from);
  return { text: bytes.toString('utf8', from, end), end: end + 1 };
}
