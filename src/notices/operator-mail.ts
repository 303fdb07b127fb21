/**
 * E-mails to the operator and the contractor: opens the notices and alerts that the settings turn on, and renders each
 * kind (reference §11.7).
 */
import type { Render } from '../mail/messages.ts';
import { type Clock, processTimeZone } from '../platform/clock.ts';
import { once } from '../platform/lazy.ts';
import type { Log } from '../platform/log.ts';
import type { NewId } from '../platform/random.ts';
import type { Settings } from '../settings/settings.ts';
import type { Storage } from '../storage/database.ts';
import type { MessageKind } from '../storage/operation-schema.ts';
import { findSubmission } from '../submissions/read/list.ts';
import { countDeliveredLater, deliveryState } from '../submissions/read/statistics.ts';
import type { AlertEvent } from './alert-kinds.ts';
import { alertMail } from './alert-mail.ts';
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
  /** Returns the label of a client (default: its name). */
  labelOf?: (client: string) => string;
};

/** Opens notices and alerts. `render` renders their messages and returns undefined for all other kinds. */
export function openOperatorMail(settings: Settings, parts: OperatorMailParts) {
  const { notifyEmail, contractorEmail, alertEmail, baseUrl, dataDir, operator, operatorTimeZone } = settings;
  const { storage, diskSpace = () => diskSpaceOf(dataDir), labelOf = (client) => client } = parts;
  const hostname = new URL(baseUrl).hostname;
  const timeOf = timesIn(operatorTimeZone);
  const hasConsole = settings.operatorConsole === 'on';
  const site = { operatorName: operator.name, baseUrl, dataDir, hasConsole, timeOf, labelOf };

  /** Reads the state of the delivery for the kind `upstream`. Other kinds need no state. */
  async function deliveryFacts({ kind, over, since }: AlertEvent) {
    if (kind !== 'upstream') return undefined;
    const deliveredLater = over && since !== undefined ? await countDeliveredLater(storage, new Date(since)) : 0;
    return { ...(await deliveryState(storage)), deliveredLater };
  }

  const addresses: Partial<Record<MessageKind, string | undefined>> = {
    notice: notifyEmail,
    contractor_notice: contractorEmail,
    notice_summary: notifyEmail,
    alert: alertEmail,
  };
  const receivers = { operator: notifyEmail !== undefined, contractor: contractorEmail !== undefined };

  const render: Render = async ({ kind, key, about }) => {
    const address = addresses[kind];
    if (address === undefined) return undefined;
    switch (kind) {
      case 'notice':
      case 'contractor_notice': {
        const row = await findSubmission(storage, key);
        const content = row && noticeMail(row, site, kind === 'notice' ? 'operator' : 'contractor');
        return content && { ...content, address };
      }
      case 'notice_summary':
        return { ...summaryMail(JSON.parse(about ?? '{}'), key, site), address };
      case 'alert': {
        const event = JSON.parse(about ?? '{}') as AlertEvent;
        return { ...alertMail(event, site, await deliveryFacts(event)), address };
      }
      default:
        return undefined;
    }
  };

  return {
    notices: Object.values(receivers).includes(true) ? openNotices({ ...parts, hostname, receivers }) : noNotices,
    alerts: alertEmail === undefined ? noAlerts : openAlerts({ ...parts, hostname, diskSpace }),
    render,
  };
}

/**
 * Returns the function that shows a time in a zone (default: that of the process), such as `1 Sept 2026, 14:00 CEST`.
 * Intl reads its data when the first time is shown, because that takes 28 ms, 4 % of a start.
 */
function timesIn(given: string | undefined): (at: string | number) => string {
  const format = once(
    () =>
      new Intl.DateTimeFormat('en-GB', {
        ...{ day: 'numeric', month: 'short', year: 'numeric' },
        ...{ hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
        timeZone: given ?? processTimeZone() ?? 'UTC',
      }),
  );
  return (at) => format().format(new Date(at));
}
