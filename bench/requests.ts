/** Builds HTTP/1.1 requests. Each request names a client address, as a proxy does. */

export type Requests = {
  /**
   * Number of requests from one address before the next address is used. This number equals the rate limit of an
   * address.
   */
  perAddress: number;
  /** Returns the next request from an address. */
  from(address: string): string;
  /** True if the requests differ only in the address. In that case `wrk` can send them too. */
  steady: boolean;
};

/** Each series of requests uses a separate network of addresses. */
let networks = 10;

/** Returns a function that makes the next request. */
export function series({ perAddress, from }: Requests): () => string {
  const network = networks;
  networks += 1;
  let made = 0;
  return () => {
    const number = Math.floor(made / perAddress);
    made += 1;
    return from(`${network}.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`);
  };
}

/** Builds a GET. Each header in `headers` ends with a line break. */
export function get(path: string, address: string, headers: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: bench\r\nX-Forwarded-For: ${address}\r\n${headers}\r\n`;
}

export function post(path: string, type: string, body: string, address: string, headers = ''): string {
  return (
    `POST ${path} HTTP/1.1\r\nHost: bench\r\nContent-Type: ${type}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nX-Forwarded-For: ${address}\r\n${headers}\r\n${body}`
  );
}
