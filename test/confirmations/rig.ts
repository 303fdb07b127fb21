/** Requests of an agent and clicks of a person, for the tests of confirmations. */
import { expect } from 'vitest';
import type { MailServer } from '../mail/mail-server.ts';
import { type Answer, call, previewId } from '../support/agent.ts';
import type { TestClock } from '../support/clock.ts';
import { type Service, tokens } from '../support/service.ts';
import { until } from '../support/until.ts';

/** Requests a confirmation of a preview. */
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

/** Reads or cancels a confirmation. */
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

/** Opens the page of a confirmation as a person does. */
export function openPage(service: Pick<Service, 'url'>, path: string): Promise<Answer> {
  return call(service, path, { method: 'GET', headers: { accept: 'text/html' } });
}

/** Clicks a button of the page. Without a token, takes the token of the page. */
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
  if (['send', 'change'].includes(button) && inputs.token === undefined) {
    body.set('token', tokenIn((await openPage(service, path)).text) ?? '');
  }
  return await call(service, path, { headers, body });
}

/** Returns the value of the page's hidden token. */
export function tokenIn(page: string): string | undefined {
  return /name="token" value="([^"]+)"/.exec(page)?.[1];
}

/** Returns a pending confirmation with its key and preview, and the path of its page. */
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

/** Returns the code of the mailbox's first message, or of the message with that number. */
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

/** Returns six digits that differ from the code. */
export const wrongOf = (code: string) => (code === '000000' ? '000001' : '000000');
