/** Metrics of confirmations whose submission failed or that wrong codes ended (reference §6.7). */
import { expect, test } from 'vitest';
import { startMailServer } from '../mail/mail-server.ts';
import { testClock } from '../support/clock.ts';
import { freePort } from '../support/free-port.ts';
import { metricsText } from '../support/metrics.ts';
import { startService } from '../support/service.ts';
import { answering, startUpstream } from '../support/upstream.ts';
import { mailedCode, pending, pressButton, wrongOf } from './rig.ts';

test('metrics count a confirmation that the upstream refused, and one that five wrong codes ended', async () => {
  const clock = testClock();
  const [mail, upstream, metricsPort] = await Promise.all([startMailServer(), startUpstream(), freePort()]);
  upstream.answer = answering(422);
  const environment = { UPSTREAM_URL: upstream.url, SMTP_URL: mail.url, METRICS_PORT: String(metricsPort) };
  const service = await startService({ clock, environment });
  try {
    await pressButton(service, (await pending(service)).path, 'send');
    const fields = { email: 'wrong@example.com' };
    const { path } = await pending(service, { action: 'newsletter', fields, via: 'page_email' });
    await pressButton(service, path, 'code');
    const wrong = wrongOf(await mailedCode(mail, clock, fields.email));
    const statuses: number[] = [];
    for (let n = 0; n < 5; n += 1) statuses.push((await pressButton(service, path, 'check', { code: wrong })).status);
    expect(statuses).toEqual([200, 200, 200, 200, 303]);
    const text = await metricsText(metricsPort);
    const counts = { asked: 2, submitted: 0, failed: 1, expired: 1 };
    for (const [status, count] of Object.entries(counts)) {
      expect(text).toContain(`service_confirmations_total{status="${status}"} ${count}`);
    }
  } finally {
    await Promise.all([service.close(), mail.close(), upstream.close()]);
  }
});
