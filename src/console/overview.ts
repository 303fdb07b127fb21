/** The first page (reference §12.6): tasks, and the leads of each day. The page shows no personal data. */
import { markReportsSeen } from '../confirmations/mailbox.ts';
import { countBots } from '../intake/honeypots.ts';
import { diskSpaceOf } from '../notices/probes.ts';
import { isIsoTime } from '../platform/clock.ts';
import { COUNTED_ROWS } from '../submissions/read/list.ts';
import { countChips, type DayCounts, dailyCounts, lastAnswer } from '../submissions/read/statistics.ts';
import { many, outcomeWords } from './lead-words.ts';
import { withQuery } from './lists.ts';
import type { Answer, ChangeParts, ChangeRequest, ConsoleParts, PageRequest } from './page.ts';
import { setResult } from './sessions.ts';
import { pathOfPage } from './templates.ts';
import type { Times } from './times.ts';
import { freeSpace, tasksFor } from './warnings.ts';

const BOT_DAYS = 30;

export async function overviewPage(parts: ConsoleParts, { now, times }: PageRequest): Promise<Answer> {
  const { settings, storage, reader } = parts;
  const space = await diskSpaceOf(settings.dataDir).catch(() => undefined);
  const tasks = await tasksFor(parts, { now, times, space });
  const fresh = (await countChips(reader)).new;
  const isEmbedded = settings.upstream.kind === 'inbox';
  const answer = isEmbedded ? undefined : await lastAnswer(reader);
  const bots = await countBots(storage, { now, days: BOT_DAYS });
  const data = {
    tasks,
    seenPath: pathOfPage('seeReports'),
    fresh: fresh > 0 && {
      title:
        fresh > COUNTED_ROWS ? `More than ${COUNTED_ROWS.toLocaleString('en')} new leads` : many(fresh, 'new lead'),
      href: withQuery(pathOfPage('operatorLeads'), { progress: 'new' }),
    },
    upstream: isEmbedded
      ? { text: 'Leads are stored here, in the embedded inbox.' }
      : answer && { text: outcomeWords[answer.outcome], at: times.shown(answer.at) },
    bots: `${many(bots, 'submission')} from bots in the last ${BOT_DAYS} days`,
    disk: space && `${freeSpace(space)} free`,
    picture: chartOf(await dailyCounts(reader, now, times.zone), times),
  };
  return { kind: 'page', title: 'Overview', template: 'overview', data };
}

/** Marks the reports of people as seen, for all operators. */
export async function seeReports(_parts: ChangeParts, { sent, session, commit, returnTo }: ChangeRequest) {
  const until = sent('until') ?? '';
  if (sent('do') !== 'seen' || !isIsoTime(until)) return { kind: 'operatorButton' as const };
  await commit(async (tx) => {
    const count = await markReportsSeen(tx, until);
    if (count === 0) return {};
    await setResult(tx, session, { text: `${many(count, 'report')} marked as seen.` });
    return { entry: { name: session.name, what: 'saw_report', about: { count } } };
  });
  return { kind: 'done' as const, to: returnTo };
}

const BAR = { width: 20, gap: 4, height: 100 };

/**
 * Returns a stacked bar for each day: leads of browsers plain, leads of agents hatched. The template repeats the
 * numbers in words.
 */
function chartOf(days: readonly DayCounts[], times: Times) {
  const most = Math.max(...days.map(({ browser, agent }) => browser + agent));
  const heightOf = (count: number) => (count / Math.max(1, most)) * BAR.height;
  const bars = days.map(({ date, browser, agent }, index) => {
    const [browserHeight, agentHeight] = [heightOf(browser), heightOf(agent)];
    return {
      // The day `2026-12-01` in the operator's format, without a time.
      date: times.shown(`${date}T12:00:00Z`).text.split(',', 1)[0],
      browser,
      agent,
      x: index * (BAR.width + BAR.gap),
      browserTop: BAR.height - browserHeight,
      browserHeight,
      agentTop: BAR.height - browserHeight - agentHeight,
      agentHeight,
    };
  });
  return {
    bars,
    bar: BAR,
    width: bars.length * (BAR.width + BAR.gap) - BAR.gap,
    most,
    browser: days.reduce((sum, day) => sum + day.browser, 0),
    agent: days.reduce((sum, day) => sum + day.agent, 0),
  };
}
