/** A service whose operators sign in by mail, for the tests of reference §12.16. */
import { expect } from 'vitest';
import type { MailServer } from '../mail/mail-server.ts';
import type { Answer } from '../support/agent.ts';
import type { TestClock } from '../support/clock.ts';
import type { Service } from '../support/service.ts';
import { cookieOf, type Operator, operatorWith, startWithConsole } from './operator.ts';

export const JO = 'jo@paint.example';
export const AL = 'al@paint.example';
export const STRANGER = 'eve@else.example';

/** Starts the service with the operators Jo and Al. No timer fires, so the test itself sends the mail (`mailed`). */
export function startWithOperators(
  server: Pick<MailServer, 'url'>,
  clock: TestClock,
  environment: Record<string, string> = {},
): Promise<Service> {
  return startWithConsole({
    clock: { ...clock, after: () => () => {} },
    environment: { OPERATORS: `${JO}, ${AL}`, SMTP_URL: server.url, ...environment },
  });
}

/** Requests a link with the form of the sign-in page, and waits until the mail is queued. */
export async function request(
  service: Service,
  email: string,
  page = '/operator',
  headers?: Record<string, string>,
): Promise<Answer> {
  const form = { email, page };
  const answer = await operatorWith(service, '').press('/operator/sign-in', form, headers && { headers });
  await queued(service);
  return answer;
}

/** Waits for the work that continues after a response. */
export async function queued({ parts }: Service): Promise<void> {
  await Promise.all(parts.background.all());
}

/** Sends the waiting mail. Returns the recipient, the text and the path of the only link of each message. */
export async function mailed(service: Service, server: MailServer) {
  const before = server.received.length;
  await service.parts.outbox?.work();
  return server.received.slice(before).map(({ to, raw }) => {
    const text = raw.replaceAll('=\r\n', '').replaceAll('=3D', '=');
    const links = text.match(/https?:\/\/\S+/g) ?? [];
    expect(links).toHaveLength(1);
    return { to: to.join(), text, path: new URL(links[0] ?? '').pathname };
  });
}

/** Requests and mails a link, and returns its path. */
export async function mailedLink(service: Service, server: MailServer, email = JO, page?: string): Promise<string> {
  await request(service, email, page);
  const [mail] = await mailed(service, server);
  return mail?.path ?? expect.fail('No link was mailed.');
}

/** Signs in with a mailed link. */
export async function signInByMail(service: Service, server: MailServer, email = JO): Promise<Operator> {
  const path = await mailedLink(service, server, email);
  return operatorWith(service, cookieOf(await operatorWith(service, '').press(path, {})));
}
