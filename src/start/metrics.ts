/** Opens the metrics with what they read from other components (reference §21.4). */
import { forms } from '../forms/catalog.ts';
import type { Limits } from '../limits/limits.ts';
import type { Outbox } from '../mail/outbox.ts';
import type { Clock } from '../platform/clock.ts';
import { type Metrics, noMetrics, openMetrics } from '../platform/metrics.ts';
import { routes } from '../routes.ts';
import { answersInTime } from '../server/health.ts';
import type { Settings } from '../settings/settings.ts';
import type { Storage } from '../storage/database.ts';
import { countSubmissions } from '../submissions/read/statistics.ts';

/** Returns the metrics on their own port, or metrics that count nothing without `METRICS_PORT`. Throws as `listen`. */
export async function openServiceMetrics(
  { metricsPort, host }: Settings,
  { storage, clock, limits, outbox }: { storage: Storage; clock: Clock; limits: Limits; outbox(): Outbox | undefined },
): Promise<Metrics> {
  if (metricsPort === undefined) return noMetrics;
  return await openMetrics(host, metricsPort, {
    route: routes.metrics,
    forms: Object.keys(forms),
    outboxDepth: async () => outbox()?.depth() ?? {},
    submissions: () => countSubmissions(storage),
    storeAnswers: () => answersInTime(storage, clock),
    usesFallbackLimits: limits.usesFallback,
  });
}
