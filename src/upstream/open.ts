/** Opens the upstream of the settings. */
import type { Clock } from '../platform/clock.ts';
import type { Settings } from '../settings/settings.ts';
import type { Upstream } from './upstream.ts';

/**
 * Returns the upstream, or undefined if submissions are not configured. Only an HTTP upstream loads undici, which is a
 * tenth of what a start loads.
 */
export async function openUpstream(
  { upstream, upstreamHeaders: headers, upstreamTimeoutMs: timeoutMs, upstreamRedirect: redirect }: Settings,
  clock: Clock,
): Promise<Upstream | undefined> {
  if (upstream.kind === 'none') return undefined;
  if (upstream.kind === 'inbox') return { embedded: true };
  const { openHttpUpstream } = await import('./http.ts');
  return openHttpUpstream({ ...upstream, headers, timeoutMs, redirect, clock });
}
