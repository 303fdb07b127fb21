/**
 * E-mails to the operator: opens the notices and alerts that the settings turn on, and renders each kind (reference
 * §11.7).
 */
import type { Render } from '../mail/messages.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { NewId } from '../platform/random.ts';
import type { Settings } from '../settings/settings.ts';
import type { Storage } from '../storage/database.ts';
import { findSubmission } from '../submissions/read/list.ts';
import { alertMail } from './alert-kinds.ts';
import { noAlerts, openAlerts } from './alerts.ts';
import { noticeMail, summaryMail } from './notice-mail.ts';
import { noNotices, openNotices } from './notices.ts';
import { type DiskSpace, diskSpaceOf } from './probes.ts';

type OperatorMailParts = {
  storage: Storage;
  clock: Clock;
  newId: NewId;
  log: Log;
  /** Measures the disk of `DATA_DIR`. */
  diskSpace?: () => Promise<DiskSpace | undefined>;
};

/** Opens notices and alerts. `render` renders their messages and returns undefined for all other kinds. */
export function openOperatorMail(settings: Settings, parts: OperatorMailParts) {
  const { notifyEmail, alertEmail, baseUrl, dataDir, operator } = settings;
  const { diskSpace = () => diskSpaceOf(dataDir) } = parts;
  const hostname = new URL(baseUrl).hostname;
  const site = { operatorName: operator.name, baseUrl, dataDir };

  const render: Render = async ({ kind, key, about }) => {
    const address = kind === 'alert' ? alertEmail : notifyEmail;
    if (address == null) return undefined;
    switch (kind) {
      case 'notice': {
        const row = await findSubmission(parts.storage, key);
        const content = row && noticeMail(row, site);
        return content && { ...content, address };
      }
      case 'notice_summary':
        return { ...summaryMail(JSON.parse(about ?? '{}'), key, site), address };
      case 'alert':
        return { ...alertMail(JSON.parse(about ?? '{}'), site), address };
      default:
        return undefined;
    }
  };

  return {
    notices: notifyEmail === undefined ? noNotices : openNotices({ ...parts, hostname }),
    alerts: alertEmail === undefined ? noAlerts : openAlerts({ ...parts, hostname, diskSpace }),
    render,
  };
}
