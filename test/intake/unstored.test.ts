/** Forms sent while the store takes nothing: the answer says whether the form may have arrived (reference §4.7). */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { steppedClock } from '../support/clock.ts';
import { post } from '../support/forms.ts';
import { freePort } from '../support/free-port.ts';
import { expectEffects } from '../support/outcomes.ts';
import { errorsIn, type Service, startService } from '../support/service.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

const STORE_WAIT_MS = 2_000;
const lead = { form: 'contact', name: 'Ada', email: 'ada@example.com', subject: 'Walls', message: 'Two rooms.' };
const reader = { email: 'reader@example.com', privacy: 'on' };

const clock = steppedClock();
let upstream: ProgrammableUpstream;
let service: Service;
let restore = () => {};
beforeAll(async () => {
  upstream = await startUpstream();
  service = await startService({ clock, environment: { UPSTREAM_URL: upstream.url } });
});
afterEach(() => restore());
afterAll(async () => {
  await service.close();
  await upstream.close();
});

/** Fills the disk for as long as a form waits for the store. */
function fillDisk({ parts: { storage } } = service): void {
  const { requireDiskSpace } = storage;
  storage.requireDiskSpace = () => {
    clock.advance(STORE_WAIT_MS);
    throw new StorageUnavailable('The disk is full.');
  };
  restore = () => {
    storage.requireDiskSpace = requireDiskSpace;
  };
}

/** Sends a form, and expects that the upstream gets so many events and that no e-mail is queued. */
const sent = (forwarded: number, path: string, fields: Record<string, string>) =>
  expectEffects(service, upstream, { forwarded }, () => post(service, path, 'json', fields));
const logged = (msg: string) => service.logs.map((line) => JSON.parse(line)).filter((line) => line.msg === msg);

describe('a lead while the disk is full', () => {
  test('is accepted if the upstream confirms it, and the log says that it has no row', async () => {
    fillDisk();
    const answer = await sent(1, '/api/leads', lead);
    expect([answer.status, answer.body]).toEqual([200, { ok: true }]);
    const outcome = { kind: 'confirmed', known: false, status: 200 };
    const submissionId = answer.headers.get('submission-reference');
    expect(logged('lead settled').at(-1)).toMatchObject({
      submissionId,
      form: 'contact',
      outcome,
      status: 'notPersisted',
    });
  });

  test('may have arrived if the upstream answers 500, and gets no reference', async () => {
    fillDisk();
    upstream.answer = answering(500);
    const answer = await sent(1, '/api/leads', lead);
    expect([answer.status, answer.headers.get('submission-reference')]).toEqual([502, null]);
    expect(answer.body.error).toBe('We could not confirm that your submission arrived. Please try again.');
  });
});

test('a lead was not sent at all if the disk is full and nothing listens at the upstream', async () => {
  const UPSTREAM_URL = `http://127.0.0.1:${await freePort()}`;
  // The service tries a refused connection twice, with a pause of the real clock.
  const paused = { ...clock, sleep: systemClock.sleep };
  const refused = await startService({ clock: paused, environment: { UPSTREAM_URL } });
  fillDisk(refused);
  const answer = await post(refused, '/api/leads', 'json', lead);
  await refused.close();
  expect(answer.status).toBe(502);
  expect(answer.body.error).toBe('We could not deliver your submission. Nothing was sent. Please try again.');
});

describe('a subscription while the disk is full', () => {
  test('is refused with 503, sends nothing, and is logged once as an error with its id', async () => {
    fillDisk();
    const before = errorsIn(service.logs).length;
    const answer = await sent(0, '/api/subscribe', reader);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '60']);
    expect(answer.body).toMatchObject({
      error: 'We can’t store your subscription right now. Please wait 60 seconds, then try again.',
    });
    const [line, ...others] = errorsIn(service.logs)
      .slice(before)
      .map((text) => JSON.parse(text));
    expect(others).toEqual([]);
    expect(line).toMatchObject({ msg: 'subscription not stored', submissionId: expect.any(String) });
    expect(line.err).toMatchObject({ type: 'StorageUnavailable' });
  });

  test('is refused with its page, which has the typed address and says that nothing was sent', async () => {
    fillDisk();
    const answer = await post(service, '/api/subscribe', 'urlencoded', reader);
    expect(answer.status).toBe(503);
    expect(answer.text).toContain(`value="${reader.email}"`);
    // The page also contains the notices that its script can show.
    const [, notice] = /autofocus>\n<h2>(.*)<\/h2>/.exec(answer.text) ?? [];
    expect(notice).toBe('Nothing was sent');
  });

  test('is answered with 500 if its change fails for a reason that nobody expected', async () => {
    const { subscribers } = service.parts;
    const { join } = subscribers;
    restore = () => {
      subscribers.join = join;
    };
    subscribers.join = () => () => Promise.reject(new RangeError('a defect'));
    const answer = await sent(0, '/api/subscribe', reader);
    expect(answer.status).toBe(500);
    expect(errorsIn(service.logs).at(-1)).not.toContain('subscription not stored');
  });
});
