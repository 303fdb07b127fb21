/** Preloaded module that resolves `localhost` to two addresses, of which 127.0.0.1 is the second. */
import dns from 'node:dns';

const { lookup } = dns;

dns.lookup = ((host: string, options: dns.LookupAllOptions, told: (...of: unknown[]) => void) => {
  if (host !== 'localhost') return lookup(host, options, told);
  const addresses = ['127.0.0.2', '127.0.0.1'].map((address) => ({ address, family: 4 }));
  process.nextTick(() => (options.all ? told(null, addresses) : told(null, '127.0.0.2', 4)));
}) as typeof dns.lookup;
