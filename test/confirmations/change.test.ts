/** The button “Change something” on the page of a confirmation (reference §6.9, §6.15). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forms, leastFields } from '../../src/forms/catalog.ts';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { executeAction, quote } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { freePort } from '../support/free-port.ts';
import { type Service, startService } from '../support/service.ts';
import { lookAt, mailedCode, openPage, pending, pressButton, tokenIn } from './rig.ts';

let mail: MailServer;
let service: Service;
const clock = testClock();
beforeAll(async () => {
  mail = await startMailServer();
  const environment = { SMTP_URL: mail.url, METRICS_PORT: String(await freePort()) };
  service = await startService({ clock, environment });
});
afterAll(async () => {
  await service.close();
  await mail.close();
});

const fields = { ...quote, message: 'Two rooms,\n“first” floor & <b>hall</b>. 🎨' };
const statusOf = async (id: string) => (await lookAt(service, id)).body.confirmation.status;
/** Returns path and values of the only link to a filled-in form. */
function linkIn(html: string): [string, Record<string, string>] {
  const links = [...html.matchAll(/ href="([^"]*#[^"]*=[^"]*)"/g)].map(([, href = '']) =>
    href.replaceAll('&amp;', '&'),
  );
  expect(links).toHaveLength(1);
  const [path = '', fragment] = links[0]?.split('#') ?? [];
  return [path, Object.fromEntries(new URLSearchParams(fragment))];
}

describe('“Change something”', () => {
  test('declines the confirmation, sends nothing, and links to the form with every value in the fragment', async () => {
    const { id, path, key, preview } = await pending(service, { fields });
    const { status, headers, text } = await pressButton(service, path, 'change');
    expect([status, headers.get('cache-control'), headers.get('x-robots-tag')]).toEqual([200, 'no-store', 'noindex']);
    expect(text).toContain('Nothing was sent to Vetted Painters.');
    expect(linkIn(text)).toEqual(['/quote', fields]);
    expect(text).not.toContain('<script');
    expect(await statusOf(id)).toBe('declined');
    const executed = await executeAction(service, preview, { key });
    expect([executed.status, executed.body.error]).toEqual([409, 'confirmation_declined']);
    const rows = await service.parts.storage.read((db) =>
      db.selectFrom('confirmations').select(['fields', 'email']).where('id', '=', id),
    );
    expect(rows).toEqual([{ fields: null, email: null }]);
  });

  test.each(Object.values(forms))('links to the form of $name', async (form) => {
    const fields = { ...leastFields(form), email: `${form.name}@example.com` };
    const { path } = await pending(service, { action: form.name, fields });
    const { text } = await pressButton(service, path, 'change');
    expect(linkIn(text)).toEqual([`/${form.page}`, fields]);
  });

  test('is counted and logged as a decline, without a value', async () => {
    const declined = async () => {
      const metrics = await fetch(`http://127.0.0.1:${service.settings.metricsPort}/metrics`);
      return Number(/confirmations_total\{status="declined"\} (\d+)/.exec(await metrics.text())?.[1]);
    };
    const { id, path } = await pending(service, { fields: { ...quote, email: 'canary@example.com' } });
    const before = await declined();
    await pressButton(service, path, 'change');
    expect(await declined()).toBe(before + 1);
    const logged = service.logs.filter((line) => line.includes(id)).map((line) => JSON.parse(line).msg);
    expect(logged).toContain('confirmation declined');
    expect(service.logs.join('')).not.toContain('canary');
  });

  test('returns 403 without the token of the page, from another site, or ten minutes after the page was opened', async () => {
    const { id, path } = await pending(service);
    const other = await pending(service, { action: 'newsletter', fields: { email: 'o@x.example' } });
    const token = tokenIn((await openPage(service, path)).text) ?? '';
    const theirs = tokenIn((await openPage(service, other.path)).text) ?? '';
    for (const wrong of ['', 'x', theirs]) {
      expect((await pressButton(service, path, 'change', { token: wrong })).status).toBe(403);
    }
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }, {}]) {
      expect((await pressButton(service, path, 'change', { headers, token })).status).toBe(403);
    }
    clock.advance(10 * 60_000);
    const late = await pressButton(service, path, 'change', { token });
    expect([late.status, late.text]).toEqual([403, expect.stringContaining('open for too long')]);
    expect(await statusOf(id)).toBe('pending');
  });

  test.each(['send', 'decline', 'change', 'report'])(
    'answers 303 to the confirmation page and shows no values if %s was clicked before',
    async (button) => {
      const { id, path } = await pending(service, { fields: { ...quote, email: `after-${button}@example.com` } });
      const token = tokenIn((await openPage(service, path)).text) ?? '';
      await pressButton(service, path, button, { token });
      const ended = await statusOf(id);
      const again = await pressButton(service, path, 'change', { token });
      expect([again.status, again.headers.get('location'), again.text]).toEqual([303, path, '']);
      expect([await statusOf(id), (await openPage(service, path)).text.includes('#name=')]).toEqual([ended, false]);
    },
  );

  test('shows the values to only one of two people who click at the same time', async () => {
    const { path } = await pending(service);
    const token = tokenIn((await openPage(service, path)).text) ?? '';
    const presses = [1, 2].map(() => pressButton(service, path, 'change', { token }));
    expect((await Promise.all(presses)).map(({ status }) => status).sort()).toEqual([200, 303]);
  });

  test('is absent while values are masked, and shown after the right code', async () => {
    const email = 'masked@example.com';
    const { id, path } = await pending(service, { action: 'newsletter', fields: { email }, via: 'page_email' });
    expect((await openPage(service, path)).text).not.toContain('value="change"');
    expect((await pressButton(service, path, 'change', { token: '' })).status).toBe(403);
    expect(await statusOf(id)).toBe('pending');
    await pressButton(service, path, 'code');
    const code = await mailedCode(mail, clock, email);
    const { text } = await pressButton(service, path, 'check', { code });
    expect(text).toContain('value="change"');
    const changed = await pressButton(service, path, 'change', { token: tokenIn(text) ?? '' });
    expect(linkIn(changed.text)).toEqual(['/newsletter', { email }]);
  });
});
