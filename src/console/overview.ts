/** The first page (beyond §7): whether anything needs the operator, and what came in. It shows nothing personal. */
import type { Picture } from '../submissions/daily-counts.ts';
import { lastAnswer } from '../submissions/last-answer.ts';
import { attentionOf, gigabytes, roomOf } from './attention.ts';
import { outcomeWords } from './lead-words.ts';
import { render } from './templates.ts';
import { type Times, timesIn } from './times.ts';
import type { Answer, ConsoleParts, Visit } from './visit.ts';

export async function overviewPage(parts: ConsoleParts, { now }: Visit): Promise<Answer> {
  const { settings, storage } = parts;
  const times = timesIn(settings.operatorTimeZone);
  const room = await roomOf(settings);
  const items = await attentionOf(parts, { now, times, room });
  const isEmbedded = settings.upstream.kind === 'inbox';
  const answer = isEmbedded ? undefined : await lastAnswer(storage);
  const main = render('overview', {
    items,
    upstream: isEmbedded
      ? { text: 'Leads are stored here, in the embedded inbox.' }
      : answer && { text: outcomeWords[answer.outcome], at: times.shown(answer.at) },
    disk: room && `${gigabytes(room.freeBytes)} of ${gigabytes(room.wholeBytes)} free`,
    picture: pictureOf(await parts.dailyCounts.picture(times.zone), times),
    zone: times.zone,
  });
  return { kind: 'page', title: 'Overview', main };
}

const BAR = { width: 20, gap: 4, height: 100 };

/**
 * Stacked bars of each day: browsers plain, agents hatched; the words stand beside it. Undefined while they are
 * counted for the first time.
 */
function pictureOf(counted: Picture | undefined, times: Times) {
  if (counted === undefined) return undefined;
  const { days, at, isOld } = counted;
  const sum = (of: (day: (typeof days)[number]) => number) =>
    days.reduce((all, day) => all + of(day), 0);
  const most = Math.max(1, ...days.map(({ browser, agent }) => browser + agent));
  const heightOf = (count: number) => (count / most) * BAR.height;
  const bars = days.map(({ date, browser, agent }, index) => {
    const [browserHeight, agentHeight] = [heightOf(browser), heightOf(agent)];
    return {
      date: dayWords(date, times),
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
    old: isOld ? times.shown(at.getTime()) : undefined,
    most: Math.max(...days.map(({ browser, agent }) => browser + agent)),
    browser: sum(({ browser }) => browser),
    agent: sum(({ agent }) => agent),
  };
}

/** `2026-12-01` as people read it. */
function dayWords(date: string, { shown }: Times): string {
  return shown(`${date}T12:00:00Z`).text.replace(/,? \d{1,2}:\d{2}$/, '');
}
