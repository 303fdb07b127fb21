/** The first page (reference §12.6): warnings, and the leads of each day. The page shows nothing personal. */

import { countBots } from '../intake/honeypots.ts';
import { diskSpaceOf } from '../notices/probes.ts';
import { type DayCounts, dailyCounts, lastAnswer } from '../submissions/read/statistics.ts';
import { many, outcomeWords } from './lead-words.ts';
import type { Answer, ConsoleParts, PageRequest } from './page.ts';
import type { Times } from './times.ts';
import { freeSpace, warningsFor } from './warnings.ts';

const BOT_DAYS = 30;

export async function overviewPage(parts: ConsoleParts, { now, times }: PageRequest): Promise<Answer> {
  const { settings, storage, reader } = parts;
  const space = await diskSpaceOf(settings.dataDir).catch(() => undefined);
  const items = await warningsFor(parts, { now, times, space });
  const isEmbedded = settings.upstream.kind === 'inbox';
  const answer = isEmbedded ? undefined : await lastAnswer(reader);
  const bots = await countBots(storage, { now, days: BOT_DAYS });
  const data = {
    items,
    upstream: isEmbedded
      ? { text: 'Leads are stored here, in the embedded inbox.' }
      : answer && { text: outcomeWords[answer.outcome], at: times.shown(answer.at) },
    bots: `${many(bots, 'submission')} from bots in the last ${BOT_DAYS} days`,
    disk: space && `${freeSpace(space)} free`,
    picture: chartOf(await dailyCounts(reader, now, times.zone), times),
  };
  return { kind: 'page', title: 'Overview', template: 'overview', data };
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
      date: times.shown(`${date}T12:00:00Z`).text.replace(/,? \d{1,2}:\d{2}$/, ''),
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
