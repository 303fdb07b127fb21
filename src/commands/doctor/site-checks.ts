/** The doctor's checks of the pages, the operator, and who is notified (reference §13.3). */
import { LINK_COMMAND } from '../../failures/page-problems.ts';
import { routes } from '../../routes.ts';
import { ContentFault } from '../../site/content-overrides.ts';
import { openSite } from '../../site/site.ts';
import { isThisMachine } from '../arguments.ts';
import { type Check, failed, off, ok } from './check.ts';

/** Checks CONTENT_DIR by rendering every page. */
export const site: Check = {
  check: 'site',
  remedy: 'Check CONTENT_DIR. docs/content.md lists the allowed files.',
  async run({ settings }) {
    try {
      const pages = await (await openSite(settings)).pages();
      for (const page of pages) void [page.html, page.markdown];
      return ok(`${pages.length} pages${settings.contentDir === undefined ? '' : ', including those of CONTENT_DIR'}.`);
    } catch (error) {
      if (error instanceof ContentFault) return failed(error.message);
      throw error;
    }
  },
};

export const notices: Check = {
  check: 'notices',
  run({ settings: { mail, notifyEmail, alertEmail, contractorEmail, acknowledge } }) {
    const says = [
      `${notifyEmail ?? 'No one'} gets notices of leads.`,
      `${alertEmail ?? 'No one'} gets alerts about faults.`,
      contractorEmail ? `${contractorEmail} gets quote requests as the contractor.` : 'The contractor gets no mail.',
      `People get ${acknowledge === 'on' ? 'an acknowledgement by mail' : 'no acknowledgement'}.`,
    ].join(' ');
    const missing = [...(notifyEmail ? [] : ['NOTIFY_EMAIL']), ...(alertEmail ? [] : ['ALERT_EMAIL'])];
    if (missing.length === 0) return ok(says);
    const first = mail.kind === 'none' ? 'Set SMTP_URL and MAIL_FROM, then' : 'Set';
    return off(says, `${first} ${missing.join(' and ')}.`);
  },
};

export const operatorConsole: Check = {
  check: 'console',
  run({ settings: { operatorConsole, operators, baseUrl } }) {
    if (operatorConsole === 'off') {
      const remedy = operators.length > 0 ? 'Remove OPERATOR_CONSOLE=off.' : 'Set OPERATORS, or OPERATOR_CONSOLE=on.';
      return off('The console is off.', remedy);
    }
    const signIn =
      operators.length > 0
        ? `${operators.length} ${operators.length === 1 ? 'address signs' : 'addresses sign'} in by mail.`
        : `Links to sign in: ${LINK_COMMAND}`;
    return ok(`${baseUrl}${routes.operatorPage.path}. ${signIn}`);
  },
};

export const oauth: Check = {
  check: 'OAuth',
  run({ settings: { oauth, oauthHosts, baseUrl } }) {
    if (oauth === 'on') {
      const isLocal = isThisMachine(new URL(baseUrl).hostname);
      const hosts = isLocal ? 'Hosts on this machine' : oauthHosts.join(', ');
      return ok(`${hosts} can connect to ${baseUrl}${routes.connect.path}.`);
    }
    if (oauth === 'off') return off('OAuth is off, so hosts such as ChatGPT and Claude can’t connect.');
    return off(
      'OAuth is off, because BASE_URL is not https. Hosts such as ChatGPT and Claude can’t connect.',
      'Set BASE_URL to an https address.',
    );
  },
};

export const operator: Check = {
  check: 'operator',
  run({ settings: { operator } }) {
    return ok(operator.contact === undefined ? `${operator.name}.` : `${operator.name}, ${operator.contact}.`);
  },
};
