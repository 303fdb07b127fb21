/** The doctor's checks of what not every deployment sets: shared limits, content, and who runs it. */
import type { Clock } from '../../clock.ts';
import { openLimits } from '../../limits/open.ts';
import { openLog } from '../../operations/log.ts';
import type { Settings } from '../../settings/settings.ts';
import { ContentFault } from '../../site/overlay.ts';
import { openSite } from '../../site/site.ts';
import { operatorDangers, proxyDangers } from './dangers.ts';
import { type Finding, tryOut, warned } from './finding.ts';

/** Who the doctor counts as; no client's address. */
const DOCTOR = 'doctor';

/** One that stays silent counts as away after a while, not at once. */
const TIMES = 5;
const PAUSE_MS = 60;

/** Takes the settings; counts a few requests where requests are counted. */
export function checkLimits(settings: Settings, clock: Clock): Promise<Finding> {
  const remedy = 'Check REDIS_URL, and that Redis runs and can be reached from here.';
  const dangers = proxyDangers(settings);
  return tryOut('rate limits', remedy, async () => {
    if (settings.redisUrl === undefined) {
      const says = 'Each instance counts for itself; REDIS_URL shares them.';
      return warned({ outcome: 'ok', says }, dangers);
    }
    const limits = await openLimits(settings, clock, openLog('silent'));
    try {
      for (let time = 0; time < TIMES; time += 1) {
        await limits.take('preview', DOCTOR);
        await clock.sleep(PAUSE_MS);
      }
      if (!limits.isInsured()) {
        return warned({ outcome: 'ok', says: 'Redis counts them.' }, dangers);
      }
      return { outcome: 'failed', says: 'Redis does not answer: each instance counts.', remedy };
    } finally {
      await limits.close();
    }
  });
}

/** Takes the settings; makes the pages of the site. */
export function checkSite(settings: Settings): Promise<Finding> {
  const remedy = 'Check CONTENT_DIR; docs/content.md says what may stand there.';
  return tryOut('site', remedy, async () => {
    try {
      const pages = openSite(settings).pages();
      for (const page of pages) void [page.html, page.markdown];
      const whose = settings.contentDir === undefined ? '' : ', with those of CONTENT_DIR';
      return { outcome: 'ok', says: `${pages.length} pages${whose}.` };
    } catch (error) {
      if (error instanceof ContentFault) return { outcome: 'failed', says: error.message, remedy };
      throw error;
    }
  });
}

/** Takes the settings; says who hears by mail of leads and of faults. */
export function checkNotices({ mail, notifyEmail, alertEmail }: Settings): Finding {
  const check = 'notices';
  const told = (what: string, name: string, address: string | undefined) =>
    address === undefined
      ? `No one is told of ${what} (${name}).`
      : `${address} is told of ${what}.`;
  const says = [
    told('leads', 'NOTIFY_EMAIL', notifyEmail),
    told('faults', 'ALERT_EMAIL', alertEmail),
  ].join(' ');
  if (notifyEmail !== undefined && alertEmail !== undefined) return { check, outcome: 'ok', says };
  const first = mail.kind === 'none' ? 'Set SMTP_URL and MAIL_FROM, then' : 'Set';
  return {
    check,
    outcome: 'off',
    says,
    remedy: `${first} what is missing to an address of yours.`,
  };
}

/** Takes the settings; says as whom people see the service. */
export function checkOperator(settings: Settings): Finding {
  const { name, contact } = settings.operator;
  const says = contact === undefined ? `${name}.` : `${name}, ${contact}.`;
  return { check: 'operator', ...warned({ outcome: 'ok', says }, operatorDangers(settings)) };
}
