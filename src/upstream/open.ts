/** Which upstream the settings ask for. */
import type { Clock } from '../clock.ts';
import type { Settings } from '../settings/settings.ts';
import type { Upstream } from './upstream.ts';

/** Undefined where submissions are not configured. */
export async function openUpstream(
  settings: Settings,
  clock: Clock,
): Promise<Upstream | undefined> {
  const { upstream, upstreamTimeoutMs } = settings;
  if (upstream.kind === 'none') return undefined;
  if (upstream.kind === 'inbox') return { embedded: true };
  // Loaded only when a setting asks for it: a cold start pays for what it uses.
  const { openHttpUpstream } = await import('./http.ts');
  return openHttpUpstream({
    url: upstream.url,
    secret: upstream.secret,
    timeoutMs: upstreamTimeoutMs,
    clock,
  });
}
