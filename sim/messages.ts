/**
 * Opens the outbox with the renderers of its messages, as `src/compose.ts` and `src/start/renderers.ts` do: newsletter
 * messages, and in some runs acknowledgements, the contractor's notices and sign-in links (reference §11).
 */
import { signInRenderer } from '../src/console/sign-in-mail.ts';
import { acknowledgementRenderer, acknowledgementsOf } from '../src/intake/acknowledgement.ts';
import type { Mailer } from '../src/mail/mail.ts';
import type { Render } from '../src/mail/messages.ts';
import { type Outbox, openOutbox } from '../src/mail/outbox.ts';
import { noticeMail } from '../src/notices/notice-mail.ts';
import { type NoticeSubject, noNotices, openNotices } from '../src/notices/notices.ts';
import type { Clock } from '../src/platform/clock.ts';
import type { Log } from '../src/platform/log.ts';
import type { NewId } from '../src/platform/random.ts';
import type { Settings } from '../src/settings/settings.ts';
import type { Site } from '../src/site/site.ts';
import { defaultWords } from '../src/site/words.ts';
import type { Change, Storage } from '../src/storage/database.ts';
import type { MessageKind } from '../src/storage/operation-schema.ts';
import { findSubmission } from '../src/submissions/read/list.ts';
import type { Extras } from './extras.ts';

/** `CONTRACTOR_EMAIL`, and the only address in `OPERATORS`. */
export const CONTRACTOR = 'contractor@work.example';
export const OPERATOR = 'operator@work.example';

export const BASE_URL = 'https://simulated.example';

/** The settings that console and mail read. */
export const settings = {
  baseUrl: BASE_URL,
  operator: { name: 'Operator', contact: undefined },
  operators: [OPERATOR],
  operatorTimeZone: 'UTC',
  submissionRetentionDays: 30,
  oauthHosts: ['chatgpt.com'],
} as unknown as Settings;

/** The titles of the pages are not loaded, because that would wait for files. */
const site = { frame: () => ({ words: defaultWords() }), pages: async () => [] } as unknown as Site;

const mailSite = {
  operatorName: settings.operator.name,
  baseUrl: BASE_URL,
  hasConsole: true,
  timeOf: (at: string | number) => new Date(at).toISOString(),
  labelOf: (client: string) => client,
};

type Parts = {
  storage: Storage;
  clock: Clock;
  newId: NewId;
  log: Log;
  /** Undefined if the run sends no mail. */
  mailer: Mailer | undefined;
  perMinute: number;
  /** Renders the newsletter's messages. */
  renderConfirmation: Render;
  extras: Extras;
};

export type Messages = {
  outbox: Outbox | undefined;
  /** Returns the messages for the commit that ends a browser's first attempt, or an execution as `submitted`. */
  of(submission: NoticeSubject & { email: string | null }): Change[];
};

export function openMessages({ mailer, perMinute, renderConfirmation, extras, ...parts }: Parts): Messages {
  const { storage } = parts;
  const { acknowledges, tellsContractor } = extras;
  const receivers = { operator: false, contractor: tellsContractor };
  const notices = tellsContractor ? openNotices({ ...parts, hostname: 'simulated.example', receivers }) : noNotices;
  const renderers: Partial<Record<MessageKind, Render>> = {
    confirmation: renderConfirmation,
    sign_in: signInRenderer({ settings, ...parts }),
    acknowledgement: acknowledgementRenderer({ ...settings, acknowledge: 'on', site, storage }),
    contractor_notice: async ({ key }) => {
      const row = await findSubmission(storage, key);
      const content = row && noticeMail(row, mailSite, 'contractor');
      return content && { ...content, address: CONTRACTOR };
    },
  };
  const render: Render = async (row) => renderers[row.kind]?.(row);
  const outbox = mailer && openOutbox({ ...parts, mailer, render, perMinute });
  return {
    outbox,
    of: (submission) => [
      ...notices.of(submission),
      ...(outbox && acknowledges ? acknowledgementsOf(submission, outbox) : []),
    ],
  };
}
