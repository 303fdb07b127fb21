import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { latestFailed, resendFailed } from '../../src/mail/failed-messages.ts';
import { openOutbox } from '../../src/mail/outbox.ts';
import { openSmtpMailer } from '../../src/mail/smtp.ts';
import { openLog } from '../../src/platform/log.ts';
import type { Storage } from '../../src/storage/database.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { type TestClock, testClock } from '../support/clock.ts';
import { baseUrl, from, type MailServerOptions, startMailServer, unhurried } from './mail-server.ts';
import { render } from './outbox-parts.ts';

const MINUTE = 60_000;

let folder: string;
let clock: TestClock;
let storage: Storage;
let lines: string[];
const closers: (() => Promise<void>)[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'outbox-'));
  clock = testClock();
  lines = [];
  storage = await openSqlite(join(folder, 'service.db'), clock);
  closers.push(storage.close);
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  rmSync(folder, { recursive: true, force: true });
});

async function mailServer(options: MailServerOptions = {}) {
  const server = await startMailServer(options);
  closers.push(server.close);
  return server;
}

async function outboxTo(url: string, timeouts = unhurried) {
  const mailer = await openSmtpMailer({ url, baseUrl, from, clock, timeouts });
  const log = openLog('info', (line) => lines.push(line));
  const outbox = openOutbox({
    ...{ storage, clock, mailer, render, perMinute: 1_000, log },
    closeWithinMs: 500,
  });
  closers.push(outbox.close);
  return outbox;
}

const messageIdsOf = async (received: { raw: string }[]) =>
  await Promise.all(received.map(async ({ raw }) => (await PostalMime.parse(raw)).messageId));

test('marks a message as permanently failed on 550, never retries it, and logs the code without an address', async () => {
  const server = await mailServer({
    recipient: (address) => ({ code: 550, text: `5.1.1 <${address}> unknown` }),
  });
  const outbox = await outboxTo(server.url);
  await storage.write(outbox.messageTo('jane@subscriber.example'));
  expect(await outbox.work()).toBe(1);
  clock.advance(20 * 60 * MINUTE);
  expect(await outbox.work()).toBe(0);
  expect(server.offered).toHaveLength(1);
  expect(await outbox.depth()).toEqual({ pending: 0, dead: 1 });
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { msg: 'message failed permanently', reason: '550 5.1.1', attempt: 1 },
  ]);
  expect(lines.join('')).not.toMatch(/jane|subscriber/);
  const [failed] = await latestFailed(storage, 1);
  expect(failed).toMatchObject({ address: 'jane@subscriber.example', reply: '550 5.1.1 … unknown' });
});

test('stores the reply to the last attempt, and clears it when a resend succeeds', async () => {
  let text = '4.2.2 mailbox full';
  let isFull = true;
  const server = await mailServer({ recipient: () => (isFull ? { code: 452, text } : undefined) });
  const outbox = await outboxTo(server.url);
  const replies = async () => {
    const rows = await storage.read((db) => db.selectFrom('messages').select(['status', 'reply', 'attempts']));
    return rows.map(({ status, reply, attempts }) => [status, reply, attempts]);
  };
  await storage.write(outbox.messageTo('jane@subscriber.example'));
  for (let attempt = 1; attempt <= 7; attempt += 1) {
    text = attempt === 7 ? '4.2.2 still full' : text;
    expect(await replies()).toEqual([['pending', null, attempt - 1]]);
    await outbox.work();
    clock.advance(13 * 60 * MINUTE);
  }
  expect(await replies()).toEqual([['dead', '452 4.2.2 still full', 7]]);
  isFull = false;
  const [failed] = await latestFailed(storage, 1);
  await storage.write((tx) => resendFailed(tx, failed ?? expect.fail(), clock.now()));
  expect(await replies()).toEqual([['pending', '452 4.2.2 still full', 0]]);
  await outbox.work();
  expect(await replies()).toEqual([['sent', null, 1]]);
});

test('stores no reply if the server never replied', async () => {
  const down = await startMailServer();
  await down.close();
  const outbox = await outboxTo(down.url);
  await storage.write(outbox.messageTo('jane@subscriber.example'));
  for (let attempt = 1; attempt <= 7; attempt += 1) {
    await outbox.work();
    clock.advance(13 * 60 * MINUTE);
  }
  expect((await latestFailed(storage, 1))[0]).toMatchObject({ attempts: 7, reply: null });
});

test('sends a message once, at its retry and under the same Message-ID, if the server greylisted it', async () => {
  let greylisted = true;
  const server = await mailServer({
    recipient: () => (greylisted ? { code: 451, text: '4.7.1 try later' } : undefined),
  });
  const outbox = await outboxTo(server.url);
  await storage.write(outbox.messageTo('jane@subscriber.example'));
  await outbox.work();
  const [row] = await storage.read((db) => db.selectFrom('messages').selectAll());
  greylisted = false;
  expect(await outbox.work()).toBe(0);
  clock.advance(MINUTE);
  expect(await outbox.work()).toBe(1);
  expect(await outbox.work()).toBe(0);
  expect(await messageIdsOf(server.received)).toEqual([row?.message_id]);
  expect(await outbox.depth()).toEqual({ pending: 0, dead: 0 });
});

test('sends 20 messages while the server stalls four other messages', async () => {
  const server = await mailServer({
    recipient: (address) => (address.startsWith('slow') ? 'stall' : undefined),
  });
  const patient = { ...unhurried, socketMs: 5_000, sendMs: 5_000 };
  const outbox = await outboxTo(server.url, patient);
  for (let i = 0; i < 4; i += 1) await storage.write(outbox.messageTo(`slow${i}@x.example`));
  for (let i = 0; i < 20; i += 1) await storage.write(outbox.messageTo(`fast${i}@x.example`));
  const work = outbox.work();
  await expect.poll(() => server.received.length, { timeout: patient.socketMs - 500 }).toBe(20);
  await work;
  expect(await outbox.depth()).toEqual({ pending: 4, dead: 0 });
});

test('sends a waiting message when the mail server is available again', async () => {
  const down = await startMailServer();
  await down.close();
  const outbox = await outboxTo(down.url);
  await storage.write(outbox.messageTo('jane@subscriber.example'));
  await outbox.work();
  expect(await outbox.depth()).toEqual({ pending: 1, dead: 0 });
  const up = await mailServer({ port: down.port });
  clock.advance(MINUTE);
  await outbox.work();
  expect(up.received.map(({ to }) => to)).toEqual([['jane@subscriber.example']]);
});

test('sends again, under the same Message-ID, after the connection was lost before the reply', async () => {
  let drop = true;
  const server = await mailServer({ data: () => (drop ? 'drop' : undefined) });
  const outbox = await outboxTo(server.url);
  await storage.write(outbox.messageTo('jane@subscriber.example'));
  await outbox.work();
  drop = false;
  clock.advance(MINUTE);
  await outbox.work();
  const [first, second, ...more] = await messageIdsOf(server.received);
  expect(more).toEqual([]);
  expect(second).toBe(first);
});

test('sends messages queued before and after its start, without a call', async () => {
  const server = await mailServer();
  const outbox = await outboxTo(server.url);
  await storage.write(outbox.messageTo('found@x.example'));
  outbox.start();
  await expect.poll(() => server.received.length, { timeout: 3_000 }).toBe(1);
  await storage.write(outbox.messageTo('added@x.example'));
  await expect.poll(() => server.received.length, { timeout: 3_000 }).toBe(2);
});

test('waits for a running send at close, and sends nothing afterwards', async () => {
  const server = await mailServer();
  const outbox = await outboxTo(server.url);
  outbox.start();
  await storage.write(outbox.messageTo('jane@x.example'));
  await expect.poll(() => server.connections(), { timeout: 3_000 }).toBe(1);
  await outbox.close();
  expect(server.received).toHaveLength(1);
  expect(await outbox.depth()).toEqual({ pending: 0, dead: 0 });
  await storage.write(outbox.messageTo('joan@x.example'));
  expect(await outbox.work()).toBe(0);
});

test('closes within 2 s although the server stalls, and keeps the message pending', async () => {
  const server = await mailServer({ recipient: () => 'stall' });
  const outbox = await outboxTo(server.url);
  outbox.start();
  await storage.write(outbox.messageTo('jane@x.example'));
  await expect.poll(() => server.offered.length, { timeout: 3_000 }).toBe(1);
  const began = performance.now();
  await outbox.close();
  expect(performance.now() - began).toBeLessThan(2_000);
  expect(await outbox.depth()).toEqual({ pending: 1, dead: 0 });
});
