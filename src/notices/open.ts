/** Mail to the operator as the settings want it (beyond §2), and what each kind of message says. */
import { statfs } from 'node:fs/promises';
import type { NewId } from '../chance.ts';
import type { Clock } from '../clock.ts';
import type { Letter } from '../mail/mail.ts';
import type { Render } from '../mail/messages.ts';
import type { Log } from '../operations/log.ts';
import type { Settings } from '../settings/settings.ts';
import type { Storage } from '../storage/database.ts';
import type { SubmissionRow } from '../storage/schema.ts';
import { alertLetter } from './alert-letter.ts';
import { type AlertParts, type Alerts, noAlerts, openAlerts } from './alerts.ts';
import { noticeLetter, summaryLetter } from './notice-letter.ts';
import { type Notices, noNotices, openNotices } from './notices.ts';
import type { Room } from './watched.ts';

export type OperatorMailParts = {
  storage: Storage;
  clock: Clock;
  newId: NewId;
  log: Log;
  /** The row of a submission; undefined where it was erased. */
  find: (id: string) => Promise<SubmissionRow | undefined>;
  expiring: AlertParts['expiring'];
  /** Of the disk of `DATA_DIR`, unless it is asked by itself. */
  room?: AlertParts['room'];
};

export type OperatorMail = { notices: Notices; alerts: Alerts; render: Render };

/** Opens what the settings turn on; `render` makes every kind of message. */
export function openOperatorMail(settings: Settings, parts: OperatorMailParts): OperatorMail {
  const { notifyEmail, alertEmail, baseUrl, dataDir } = settings;
  const { storage, room = () => roomOf(dataDir) } = parts;
  const hostname = new URL(baseUrl).hostname;
  return {
    notices: notifyEmail === undefined ? noNotices : openNotices(storage, { ...parts, hostname }),
    alerts: alertEmail === undefined ? noAlerts : openAlerts({ ...parts, hostname, room }),
    render: renderer(settings, parts.find),
  };
}

/** Takes the settings and what finds a submission's row; a kind that no setting wants says nothing. */
function renderer(
  settings: Pick<Settings, 'notifyEmail' | 'alertEmail' | 'operator' | 'baseUrl' | 'dataDir'>,
  find: OperatorMailParts['find'],
): Render {
  const { notifyEmail, alertEmail, operator, baseUrl, dataDir } = settings;
  const site = { operatorName: operator.name, baseUrl, dataDir };
  const to = (address: string | null | undefined, letter: Letter | undefined) =>
    address == null || letter === undefined ? undefined : { ...letter, address };
  return async ({ kind, key, about }) => {
    switch (kind) {
      case 'notice': {
        const row = await find(key);
        return to(notifyEmail, row && noticeLetter(row, site));
      }
      case 'notice_summary':
        return to(notifyEmail, summaryLetter(JSON.parse(about ?? '{}'), key, site));
      case 'alert':
        return to(alertEmail, alertLetter(JSON.parse(about ?? '{}'), site));
      // What these say is known to `confirmations/` and `newsletter/`.
      case 'code':
      case 'confirmation':
        return undefined;
    }
  };
}

async function roomOf(folder: string): Promise<Room> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return { freeBytes: bavail * bsize, wholeBytes: blocks * bsize };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    // With PostgreSQL nothing need be kept there.
    return { freeBytes: Number.POSITIVE_INFINITY, wholeBytes: Number.POSITIVE_INFINITY };
  }
}
