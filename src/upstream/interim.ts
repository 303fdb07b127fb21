/**
 * A client must be able to take `100 Continue` that it did not ask for (RFC 9110 §15.2). Undici gives the
 * connection up at one, and with it a lead that was delivered; other interim answers it passes over.
 */
import type { Socket } from 'node:net';

const CONTINUE = Buffer.from('HTTP/1.1 100');
const END_OF_HEAD = '\r\n\r\n';

/** What undici bounds the head of an answer to. */
const HEAD_MAXIMUM_BYTES = 16 * 1024;

/**
 * Takes a socket that undici is about to read by `read()`; what it reads there has no `100 Continue` in
 * front any more. One request is under way on a connection at a time, so an answer begins a read; where
 * the body of an answer looks like that, its status has decided already.
 */
export function withoutContinue<S extends Socket>(socket: S): S {
  const read = socket.read.bind(socket);
  /** The begin of a head that has not come whole. */
  let begun: Buffer | undefined;
  socket.read = (size?: number): Buffer | null => {
    const chunk: Buffer | null = read(size);
    if (chunk === null) return null;
    let rest = begun === undefined ? chunk : Buffer.concat([begun, chunk]);
    begun = undefined;
    while (beginsLikeContinue(rest)) {
      const end = rest.indexOf(END_OF_HEAD);
      if (end === -1) {
        if (rest.length > HEAD_MAXIMUM_BYTES) return rest;
        begun = rest;
        return null;
      }
      rest = rest.subarray(end + END_OF_HEAD.length);
    }
    return rest;
  };
  return socket;
}

/** Also where fewer bytes have come than would tell, or none. */
function beginsLikeContinue(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, CONTINUE.length);
  return bytes.compare(CONTINUE, 0, length, 0, length) === 0;
}
