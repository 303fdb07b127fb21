/** The texts of a confirmation page: the statement, times, the code, and what happens next (reference §6.8, §6.13). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { shortReference } from '../../src/submissions/submission.ts';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { previewAction, quote } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { errorsIn, type Service, startService, tokens } from '../support/service.ts';
import { askToConfirm, lookAt, openPage, pending, pressButton } from './rig.ts';

const MINUTE_MS = 60_000;

let mail: MailServer;
let service: Service;
const clock = testClock('2026-09-01T12:00:00.000Z');
beforeAll(async () => {
  mail = await startMailServer();
  const environment = { SMTP_URL: mail.url, OPERATOR_CONTACT: 'help@paint.example' };
  service = await startService({ clock, environment });
});
afterAll(async () => {
  await service.close();
  await mail.close();
});

const shown = async (path: string) => (await openPage(service, path)).text;

describe('page after a click on send', () => {
  test('says who got the data, when to expect an answer, the reference, the contact and the way back', async () => {
    const { id, path } = await pending(service);
    await pressButton(service, path, 'send');
    clock.advance(2 * MINUTE_MS);
    const text = await shown(path);
    expect(text).toContain('<title>Your details were sent · Paint Match</title>');
    expect(text.match(/<h1/g)).toHaveLength(1);
    expect(text).toMatch(/Vetted Painters got your details <time datetime="[^"]+" [^>]*>2 minutes ago<\/time>\./);
    expect(text.match(/<code>.*?<\/code>/g)).toEqual([`<code>${shortReference(id)}</code>`]);
    expect(text).toContain(
      `<h2>What happens next</h2>
<ol>
<li>Vetted Painters answers you. Allow two working days.</li>
<li>You can close this page and go back to your assistant. We tell acme the result.</li>
</ol>`,
    );
    expect(text).toContain('<a href="mailto:help@paint.example">');
  });

  test('shows no reference and no time of an answer for a newsletter subscription', async () => {
    const { path } = await pending(service, { action: 'newsletter', fields: { email: 'next@example.com' } });
    await pressButton(service, path, 'send');
    const text = await shown(path);
    expect(text).toContain('Your details were sent');
    expect(text).toContain('go back to your assistant');
    expect(text).not.toMatch(/<code>|working days/);
  });
});

test('shows who asks, who receives, the purpose and the given values, each with its label', async () => {
  const { path } = await pending(service);
  const text = await shown(path);
  const lines = [...text.matchAll(/<dt>([^<]*)<\/dt><dd><bdi>([^<]*)<\/bdi>/g)].map(([, label, value]) => [
    label,
    value,
  ]);
  expect(lines.slice(0, 3)).toEqual([
    ['Requested by', 'acme'],
    ['Recipient', 'Vetted Painters'],
    ['Purpose', expect.stringMatching(/quote/)],
  ]);
  expect(lines.slice(3).map(([, value]) => value)).toEqual(Object.values(quote));
  expect(text).not.toContain('class="notice');
  // A page about one person’s request has no links for developers.
  expect(text).not.toContain('href="/agents"');
});

test('says on each page of a sandbox client that nothing will be sent', async () => {
  const { sandbox: token } = tokens;
  const preview = await previewAction(service, 'homeowner_quote', quote, { token });
  const asked = await askToConfirm(service, preview.body.preview_id, { token });
  const path = new URL(asked.body.confirmation.confirmation_url).pathname;
  const note = '<p class="notice calm">This is a test. Nothing will be sent.</p>';
  expect(await shown(path)).toContain(note);
  await pressButton(service, path, 'decline');
  expect(await shown(path)).toContain(note);
});

test('an unknown link is not repeated on its page, and any other refusal links back to the confirmation', async () => {
  const unknown = `/confirm/${'A'.repeat(22)}`;
  const { text, headers, status } = await openPage(service, unknown);
  expect([status, headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  expect(text).not.toContain(unknown);
  expect(text).toContain('Ask your assistant for a new one.');
  const { path } = await pending(service);
  const refused = await pressButton(service, path, 'send', { token: 'x' });
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([403, null]);
  expect(refused.text).toContain(`<a class="button" href="${path}">Open the page again</a>`);
  const done = await pressButton(service, path, 'decline');
  expect([done.status, done.headers.get('cache-control')]).toEqual([303, 'no-store']);
});

test('a page of an unavailable store says that it can’t check, and links to the confirmation', async () => {
  const { path, id } = await pending(service);
  const { confirmations } = service.parts;
  const { findBySecret } = confirmations;
  confirmations.findBySecret = async () => {
    throw new StorageUnavailable('away');
  };
  try {
    for (const answer of [await openPage(service, path), await pressButton(service, path, 'decline')]) {
      expect([answer.status, answer.text]).toEqual([
        503,
        expect.stringContaining('We can’t check the result right now.'),
      ]);
      expect(answer.text).toContain(`href="${path}"`);
    }
    confirmations.findBySecret = async () => {
      throw new Error('a defect');
    };
    expect((await openPage(service, path)).status).toBe(500);
    expect(errorsIn(service.logs).map((line) => JSON.parse(line))).toMatchObject([
      { msg: 'the store is unavailable', err: { message: expect.stringContaining('away') } },
      { msg: 'the store is unavailable' },
      { err: { message: 'a defect' } },
    ]);
  } finally {
    confirmations.findBySecret = findBySecret;
  }
  expect((await lookAt(service, id)).body.confirmation.status).toBe('pending');
});

test('says beside the statement that “Service” means the operator', async () => {
  const { path } = await pending(service);
  expect(await shown(path)).toMatch(
    /I confirm that Service may [^<]*<\/strong> <span>“Service” means the operator of this site: Paint Match\.<\/span>/,
  );
});

test('shows times relative to now, with the exact time for the script, and no time zone', async () => {
  const { path, id } = await pending(service);
  clock.advance(2 * MINUTE_MS);
  const text = await shown(path);
  expect(text).toMatch(
    /You can answer for <time datetime="2026-09-01T\d\d:\d\d:00\.\d{3}Z" data-exact="\(until \{time\}\)">58 minutes<\/time>\./,
  );
  clock.advance(57 * MINUTE_MS + 30_000);
  expect(await shown(path)).toContain('>1 minute</time>.');
  await pressButton(service, path, 'decline');
  expect(await shown(path)).toMatch(/You declined <time [^>]*>1 minute ago<\/time>\./);
  clock.step(3 * 24 * 60 * MINUTE_MS);
  const declined = await shown(path);
  expect(declined).toContain(`Reference: <code>${shortReference(id)}</code>`);
  expect(declined).toMatch(/You declined <time [^>]*>3 days ago<\/time>\./);
  expect(text + declined).not.toMatch(/UTC|Check the result|This is a test/);
});

test('shows the field for the code before the masked values', async () => {
  const { path } = await pending(service, { via: 'page_email' });
  const hasButtonFirst = await shown(path);
  expect(hasButtonFirst.indexOf('value="code"')).toBeLessThan(hasButtonFirst.indexOf('class="masked"'));
  await pressButton(service, path, 'code');
  const text = await shown(path);
  expect(text.indexOf('<input id="code"')).toBeGreaterThan(0);
  expect(text.indexOf('<input id="code"')).toBeLessThan(text.indexOf('class="masked"'));
});
