/** Cuts a stream of HTTP/1.1 bytes into whole messages, both requests and responses. */

const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;

/** Returns a function that takes the bytes, and calls `onMessage` with the head and the body of each whole message. */
export function messageReader(onMessage: (head: string, body: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer | undefined;
  return (chunk) => {
    const bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
    rest = undefined;
    let offset = 0;
    while (offset < bytes.length) {
      const headEnd = bytes.indexOf('\r\n\r\n', offset, 'latin1');
      if (headEnd === -1) break;
      const head = bytes.toString('latin1', offset, headEnd);
      const end = headEnd + 4 + Number(CONTENT_LENGTH.exec(head)?.[1] ?? 0);
      if (end > bytes.length) break;
      onMessage(head, bytes.subarray(headEnd + 4, end));
      offset = end;
    }
    if (offset < bytes.length) rest = bytes.subarray(offset);
  };
}
