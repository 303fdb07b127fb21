/** Requests as HTTP/1.1 has them, each from a client's address, as a proxy would name it. */

export type Requests = {
  /** So many come from one address, then from the next: what its rate allows. */
  perAddress: number;
  /** The next one, from that address. */
  from(address: string): string;
  /** Nothing but the address differs: then a client that knows nothing of them can send them, too. */
  steady: boolean;
};

/** Each series of requests has a network of its own. */
let networks = 10;

/** Returns what makes one request after the other. */
export function series({ perAddress, from }: Requests): () => string {
  const network = networks;
  networks += 1;
  let taken = 0;
  return () => {
    const number = Math.floor(taken / perAddress);
    taken += 1;
    return from(`${network}.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`);
  };
}

/** Headers end with a line break each. */
export function get(path: string, address: string, headers: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: bench\r\nX-Forwarded-For: ${address}\r\n${headers}\r\n`;
}

export function post(
  path: string,
  type: string,
  body: string,
  address: string,
  headers = '',
): string {
  return (
    `POST ${path} HTTP/1.1\r\nHost: bench\r\nContent-Type: ${type}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nX-Forwarded-For: ${address}\r\n${headers}\r\n${body}`
  );
}
