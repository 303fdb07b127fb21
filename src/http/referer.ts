/** Which of our own pages a request says that it came from. */

/** Takes a `Referer` and the host that was asked; returns its path where it names that host, and nothing besides. */
export function ownReferer(referer: string | undefined, hostname: string): string | undefined {
  if (referer === undefined) return undefined;
  const from = URL.parse(referer);
  return from?.hostname === hostname ? from.pathname : undefined;
}
