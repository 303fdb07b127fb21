/** A service whose agent asks and whose person presses, for the tests of confirmations. */
import { expect } from 'vitest';
import type { MailServer } from '../mail/mail-server.ts';
import { type Answer, call, previewId } from '../support/agent.ts';
import type { TestClock } from '../support/clock.ts';
import { type Service, tokens } from '../support/service.ts';
import { until } from '../support/until.ts';

/** Asks for a confirmation of a preview. */
export function askToConfirm(
  service: Pick<Service, 'url'>,
  preview: string,
  {
    key = `ask-${Math.random()}`,
    token = tokens.both as string,
    ...body
  }: { key?: string; token?: string; via?: unknown } = {},
): Promise<Answer> {
  return call(service, '/api/agent/confirmations', {
    headers: { authorization: `Bearer ${token}`, 'idempotency-key': key },
    body: JSON.stringify({ preview_id: preview, ...body }),
  });
}

/** Polls for it, or cancels it. */
export function lookAt(
  service: Pick<Service, 'url'>,
  id: string,
  { token = tokens.both as string, method = 'GET' } = {},
): Promise<Answer> {
  return call(service, `/api/agent/confirmations/${id}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
  });
}

const OUR_PAGE = { 'sec-fetch-site': 'same-origin' };

/** What a person does: opens the page at a path, and presses a button of it. */
export function openPage(service: Pick<Service, 'url'>, path: string): Promise<Answer> {
  return call(service, path, { method: 'GET', headers: { accept: 'text/html' } });
}

/** Presses one; the token is the page's own where none is given. */
export async function pressButton(
  service: Pick<Service, 'url'>,
  path: string,
  button: string,
  {
    headers = OUR_PAGE as Record<string, string>,
    ...inputs
  }: { headers?: Record<string, string>; token?: string; code?: string } = {},
): Promise<Answer> {
  const body = new URLSearchParams({ do: button, ...inputs });
  if (button === 'send' && inputs.token === undefined) {
    body.set('token', tokenIn((await openPage(service, path)).text) ?? '');
  }
  return await call(service, path, { headers, body });
}

/** The hidden input of a page. */
export function tokenIn(page: string): string | undefined {
  return /name="token" value="([^"]+)"/.exec(page)?.[1];
}

/** A confirmation that waits: what it was asked with, and where its page is. */
export async function pending(
  service: Pick<Service, 'url'>,
  { action = 'homeowner_quote', fields = undefined as unknown, ...asked } = {} as {
    action?: string;
    fields?: unknown;
    via?: string;
    token?: string;
  },
) {
  const preview = await previewId(service, action, fields);
  const key = `ask-${Math.random()}`;
  const { status, body } = await askToConfirm(service, preview, { key, ...asked });
  expect([status, body]).toEqual([201, expect.anything()]);
  const { id, confirmation_url: url } = body.confirmation;
  return { id: String(id), url: String(url), path: new URL(url).pathname, key, preview };
}

/** What the mailbox got: the code of its first message, or of the one of that number. */
export async function mailedCode(
  { received }: Pick<MailServer, 'received'>,
  clock: TestClock,
  email: string,
  count = 1,
): Promise<string> {
  const codes = () =>
    received.flatMap(({ to, raw }) =>
      to.includes(email) ? [/\r?\n\r?\n(\d{6}) is your code/.exec(raw)?.[1] ?? ''] : [],
    );
  await until(async () => {
    clock.advance(1_000);
    return codes().length >= count;
  });
  return codes()[count - 1] ?? '';
}

/** Six digits that are another code. */
export const wrongOf = (code: string) => (code === '000000' ? '000001' : '000000');
