/** The demo's second half: what browsers send (spec §4.6, §4.7), and the e-mail that follows. */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { randomSecret } from '../../chance.ts';
import { systemClock } from '../../clock.ts';
import { type Form, forms } from '../../forms/catalog.ts';
import { exampleFields } from '../../forms/examples.ts';
import { pages, pathsOfPage, routes } from '../../routes.ts';
import { ExitFault } from '../faults.ts';
import type { Step, Story } from './story.ts';

const MAIL_WITHIN_MS = 5_000;
const MAIL_POLL_MS = 100;
const MAILS_LOOKED_AT = 10;

/** Where the confirmation message can be seen, if this process can see it at all. */
export type MailPlace = { folder: string } | { elsewhere: string };

/** Opens a page, subscribes, looks for the e-mail, and sends a lead in each encoding. */
export async function actAsBrowser(story: Story, mail: MailPlace): Promise<void> {
  const native: Pick<Step, 'method' | 'status' | 'holds' | 'means'> = {
    method: 'POST',
    status: 303,
    holds: ({ headers }) => headers.get('location') === pages.thankYou.path,
    means: [`Accepted, and on to ${pages.thankYou.path}.`],
  };
  await story.tell({
    does: 'Open a page with a form',
    method: 'GET',
    path: pathsOfPage(forms.newsletter.page).path,
    status: 200,
    holds: ({ text }) => text.includes(`action="${routes.subscribeNewsletter.path}"`),
    means: ['Plain HTML: the form works without JavaScript, cookies or another origin.'],
  });

  // An address that had no confirmation in the last 24 hours, in a domain that is nobody's.
  const address = `demo-${randomSecret(4).toString('hex')}@example.com`;
  await story.tell({
    ...native,
    does: 'Subscribe to the newsletter',
    path: routes.subscribeNewsletter.path,
    shows: 'urlencoded',
    body: new URLSearchParams({ email: address, privacy: 'yes' }),
    means: [
      `On to ${pages.thankYou.path}. An address that is on the list already gets the same answer.`,
    ],
  });
  story.note('Look for its e-mail', await findMail(mail, address));

  await story.tell({
    does: 'Send a request for a quote, as a script of a page would',
    method: 'POST',
    path: routes.submitLead.path,
    shows: 'JSON',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(entriesOf(forms.homeowner_quote)),
    status: 200,
    holds: ({ body }) => body.ok === true,
    means: ['Accepted. The recipient is chosen by the service, never by the caller.'],
  });
  await story.tell({
    ...native,
    does: 'Send a request for a walkthrough, as a form does',
    path: routes.submitLead.path,
    shows: 'urlencoded',
    body: new URLSearchParams(entriesOf(forms.contractor_signup)),
  });
  const parts = new FormData();
  for (const [name, value] of Object.entries(entriesOf(forms.contact))) parts.set(name, value);
  await story.tell({
    ...native,
    does: 'Send a message, as a multipart form',
    path: routes.submitLead.path,
    shows: 'multipart',
    body: parts,
  });
}

function entriesOf(form: Form): Record<string, string> {
  return { form: form.name, ...exampleFields(form) };
}

/** What is to be said of the message; the outbox writes it a moment after the answer. */
async function findMail(mail: MailPlace, address: string): Promise<string[]> {
  if ('elsewhere' in mail) return [mail.elsewhere];
  for (let waited = 0; waited <= MAIL_WITHIN_MS; waited += MAIL_POLL_MS) {
    const found = newestMails(mail.folder).find(({ headers }) =>
      headers.includes(`To: ${address}`),
    );
    if (found !== undefined) {
      const shown = found.headers.filter((line) => /^(From|To|Subject):/.test(line));
      return [found.path, ...shown.map((line) => `  ${line}`)];
    }
    await systemClock.sleep(MAIL_POLL_MS);
  }
  throw new ExitFault(
    `No e-mail to the new subscriber is in ${mail.folder} after ${MAIL_WITHIN_MS / 1000} s: does the service run with other settings than this command?`,
  );
}

/** A few, for others may subscribe at the same time; none while there is no folder. */
function newestMails(folder: string): { path: string; headers: string[] }[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.eml'))
      .map((name) => join(folder, name))
      .map((path) => ({ path, written: statSync(path).mtimeMs }))
      .sort((one, other) => other.written - one.written)
      .slice(0, MAILS_LOOKED_AT)
      .map(({ path }) => {
        const [head = ''] = readFileSync(path, 'utf8').split('\r\n\r\n');
        return { path, headers: head.split('\r\n') };
      });
  } catch {
    return [];
  }
}
