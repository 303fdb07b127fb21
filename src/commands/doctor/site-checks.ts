/** The doctor's checks of the pages, the operator, and who is notified (reference §13.3). */
import { ContentFault } from '../../site/content-overrides.ts';
import { openSite } from '../../site/site.ts';
import { type Check, failed, off, ok } from './check.ts';

/** Checks CONTENT_DIR by rendering every page. */
export const site: Check = {
  check: 'site',
  remedy: 'Check CONTENT_DIR; docs/content.md says what may stand there.',
  async run({ settings }) {
    try {
      const pages = await (await openSite(settings)).pages();
      for (const page of pages) void [page.html, page.markdown];
      return ok(`${pages.length} pages${settings.contentDir === undefined ? '' : ', with those of CONTENT_DIR'}.`);
    } catch (error) {
      if (error instanceof ContentFault) return failed(error.message);
      throw error;
    }
  },
};

export const notices: Check = {
  check: 'notices',
  run({ settings: { mail, notifyEmail, alertEmail } }) {
    const recipient = (what: string, name: string, address: string | undefined) =>
      address === undefined ? `No one is told of ${what} (${name}).` : `${address} is told of ${what}.`;
    const leads = recipient('leads', 'NOTIFY_EMAIL', notifyEmail);
    const says = `${leads} ${recipient('faults', 'ALERT_EMAIL', alertEmail)}`;
    if (notifyEmail !== undefined && alertEmail !== undefined) return ok(says);
    const first = mail.kind === 'none' ? 'Set SMTP_URL and MAIL_FROM, then' : 'Set';
    return off(says, `${first} what is missing to an address of yours.`);
  },
};

export const operator: Check = {
  check: 'operator',
  run({ settings: { operator } }) {
    return ok(operator.contact === undefined ? `${operator.name}.` : `${operator.name}, ${operator.contact}.`);
  },
};
