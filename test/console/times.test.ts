/** The time zone of the console: that of the setting, of the process, or UTC, in this order (reference §20.4). */
import { afterEach, describe, expect, test } from 'vitest';
import { timesIn } from '../../src/console/times.ts';
import { processTimeZone } from '../../src/platform/clock.ts';
import { signIn, startWithConsole } from './operator.ts';

const own = process.env.TZ;
afterEach(() => {
  if (own === undefined) delete process.env.TZ;
  else process.env.TZ = own;
});

const unknown = [':/etc/localtime', '/etc/localtime', 'Etc/Unknown', 'Mars/Phobos', ''];

describe('time zone of the process', () => {
  test.each(unknown)('is unknown if TZ=%s, so that the pages use UTC', async (zone) => {
    process.env.TZ = zone;
    expect(processTimeZone()).toBeUndefined();
    const service = await startWithConsole({ environment: { OPERATOR_TIME_ZONE: '' } });
    const operator = await signIn(service);
    for (const path of ['/operator', '/operator/leads?since=2026-09-01', '/operator/audit']) {
      const { status, text } = await operator.get(path);
      expect([path, status]).toEqual([path, 200]);
      expect(text).toMatch(/Times[^<]* in UTC/);
    }
    await service.close();
  });

  test.each(['America/New_York', 'UTC', 'GMT+5'])('is the zone of the pages if TZ=%s', (zone) => {
    process.env.TZ = zone;
    timesIn('UTC');
    const { zone: shown, parse, dayOf } = timesIn(undefined);
    expect(shown).toBe(processTimeZone());
    expect(dayOf(parse('2026-12-01')?.getTime() ?? 0)).toBe('2026-12-01');
  });

  test('is not used if OPERATOR_TIME_ZONE is set', () => {
    process.env.TZ = 'Etc/Unknown';
    expect(timesIn('Europe/Berlin').zone).toBe('Europe/Berlin');
  });
});
