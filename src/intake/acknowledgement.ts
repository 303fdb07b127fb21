/**
 * Acknowledgements: e-mails that tell a person that their form has arrived (reference §11.8, `ACKNOWLEDGE`), in the
 * operator's language. Anybody can enter the address of somebody else. So an acknowledgement contains nothing that was
 * typed, and a mailbox gets at most one in 24 hours (`mail/messages.ts`).
 */
import { findForm } from '../forms/catalog.ts';
import type { Render } from '../mail/messages.ts';
import type { Outbox } from '../mail/outbox.ts';
import { pages, pathsOfPage } from '../routes.ts';
import type { Settings } from '../settings/settings.ts';
import { fillInAll } from '../site/interpolate.ts';
import type { Site } from '../site/site.ts';
import type { Change, ReadOnly } from '../storage/database.ts';
import type { SubmissionRow } from '../storage/schema.ts';
import { findSubmission } from '../submissions/read/list.ts';
import { shownReference } from '../submissions/submission.ts';
import type { Event } from '../upstream/upstream.ts';

/**
 * Returns the changes that queue an acknowledgement, for the transaction that ends a browser's first attempt or settles
 * an execution as `submitted`. A subscription has none.
 */
export function acknowledgementsOf(
  { id, form, email }: Pick<SubmissionRow, 'id' | 'form' | 'email'>,
  outbox: Pick<Outbox, 'messageTo'>,
): Change[] {
  const isLead = findForm(form)?.event === 'lead.created';
  return isLead && email !== null ? [outbox.messageTo(email, 'acknowledgement', id)] : [];
}

type RendererParts = Pick<Settings, 'acknowledge' | 'operator' | 'baseUrl'> & {
  site: Pick<Site, 'frame' | 'pages'>;
  storage: ReadOnly;
};

/**
 * Returns the renderer of acknowledgements. The renderer returns undefined if the setting is off or the submission is
 * erased. It reads no typed value of the submission, so the content of the submission may be deleted.
 */
export function acknowledgementRenderer(parts: RendererParts): Render {
  const { acknowledge, operator, baseUrl, site, storage } = parts;
  return async ({ address, about: id }) => {
    if (acknowledge === 'off' || address === null || id === null) return undefined;
    const row = await findSubmission(storage, id);
    if (row === undefined) return undefined;
    const form = findForm(row.form);
    const reference = shownReference(row.form, id);
    if (form === undefined || reference === undefined) return undefined;
    const { path } = pathsOfPage(form.page);
    const page = (await site.pages()).find((each) => each.path === path);
    const { recipient } = (JSON.parse(row.event) as Event).data;
    const message = fillInAll(site.frame().words.acknowledgement, {
      form: page?.title ?? form.purpose,
      recipient: recipient?.name ?? operator.name,
      reference,
      operator: operator.name,
      contact: operator.contact ?? baseUrl + pages.contact.path,
      site: baseUrl,
      privacy_url: baseUrl + pages.privacy.path,
    });
    return { ...message, address };
  };
}
