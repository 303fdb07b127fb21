/**
 * The buttons of a person's own page, top to bottom (beyond §4). A press is one conditional update, then the
 * execution as ever, by the code of execute: whoever presses when, it is sent once at most.
 */
import { isConfigured } from '../actions/admission.ts';
import { CONFIRMATION_STATEMENT } from '../actions/confirmation-statement.ts';
import { type ExecuteParts, sendClaimed, submissionOf } from '../actions/execute.ts';
import { scopeOf } from '../credentials/scopes.ts';
import type { PressRefusal } from '../failures/refusals.ts';
import { findForm } from '../forms/catalog.ts';
import type { Fields } from '../forms/validate.ts';
import type { Rate } from '../limits/limits.ts';
import type { Metrics } from '../operations/metrics.ts';
import { destinationOf } from '../submissions/recipient.ts';
import type { Codes } from './codes.ts';
import { type Confirmation, type Confirmations, isCodeOut } from './confirmations.ts';
import { digestOfSecret, isPageToken } from './secrets.ts';

export type PressParts = ExecuteParts & {
  confirmations: Confirmations;
  codes: Codes;
  /** Whether a code can be mailed. */
  mailsCodes: boolean;
  alerts: { reported(): void };
  metrics: Pick<Metrics, 'countConfirmation'>;
};

/** A button, by what its form sends. */
export type Button =
  | { do: 'send'; token: string }
  | { do: 'decline' | 'report' | 'code' }
  | { do: 'check'; code: string };

export type PressRequest = {
  secret: string;
  takeFromLimit(): Promise<Rate>;
  /** Undefined where the browser says that another site made it. */
  isFromOurPage: boolean;
  /** It says of itself that it is automated (Web Bot Auth). */
  isSigned: boolean;
  /** Undefined where it is none of the buttons. */
  readButton(): Promise<Button | undefined>;
  traceparent: string | undefined;
};

export type Pressed =
  /** The page shows what became of it. */
  | { kind: 'done' }
  | { kind: 'unmasked'; confirmation: Confirmation }
  | { kind: 'wrongCode'; confirmation: Confirmation; left: number }
  | PressRefusal;

/** The chain of every button. Throws `StorageUnavailable`. */
export async function press(parts: PressParts, request: PressRequest): Promise<Pressed> {
  const rate = await request.takeFromLimit();
  if (rate.exceeded) return { kind: 'pressTooOften', retryAfterSeconds: rate.resetSeconds };

  if (!request.isFromOurPage) return { kind: 'pressFromElsewhere' };
  if (request.isSigned) return { kind: 'pressByAgent' };

  const digest = digestOfSecret(request.secret);
  const confirmation = digest && (await parts.confirmations.findBySecret(digest));
  if (!confirmation) return { kind: 'unknownLink' };

  const button = await request.readButton();
  if (button === undefined) return { kind: 'unknownButton' };
  if (confirmation.execution.status !== 'asked') return { kind: 'done' };

  switch (button.do) {
    case 'send':
      return await send(parts, confirmation, button.token, request.traceparent);
    case 'decline':
      return await decline(parts, confirmation);
    case 'report':
      return await report(parts, confirmation);
    case 'code':
      return await mailCode(parts, confirmation);
    case 'check':
      return await checkCode(parts, confirmation, button.code);
  }
}

async function send(
  parts: PressParts,
  confirmation: Confirmation,
  token: string,
  traceparent: string | undefined,
): Promise<Pressed> {
  const { id, client, via, destination, fields, execution } = confirmation;
  const { credentials, executions, parties, signingKeys, clock } = parts;
  if (!isPageToken(signingKeys, id, token, clock.now())) return { kind: 'pageTooOld' };
  if (!credentials.mayStill(client, scopeOf.execute)) return { kind: 'clientNotAllowed' };

  const form = findForm(confirmation.action);
  if (parties === undefined || form === undefined) return { kind: 'sendingNotConfigured' };
  if (destination !== destinationOf(form, parties)) return { kind: 'destinationChanged' };
  if (!isConfigured(parts)) return { kind: 'sendingNotConfigured' };
  // Its fields go with its end: somebody was faster.
  if (fields === null) return { kind: 'done' };

  const pressed = {
    actionId: id,
    action: form.name,
    client,
    idempotencyKey: execution.idempotency_key,
    previewDigest: execution.preview_digest,
    confirmationText: CONFIRMATION_STATEMENT,
    confirmedVia: via,
    destination,
    pressId: parts.newId(),
  };
  const said = { form, fields: JSON.parse(fields) as Fields };
  const claim = await executions.press(pressed, submissionOf(pressed, said, parties));
  if (claim === undefined) return { kind: 'done' };
  const result = await sendClaimed(parts, claim, form, traceparent);
  parts.metrics.countConfirmation(result.kind === 'submitted' ? 'submitted' : 'failed');
  return { kind: 'done' };
}

async function decline(parts: PressParts, confirmation: Confirmation): Promise<Pressed> {
  if (await parts.executions.asked.end(confirmation, 'declined')) {
    parts.metrics.countConfirmation('declined');
    parts.log.info(about(confirmation), 'a person declined');
  }
  return { kind: 'done' };
}

async function report(parts: PressParts, confirmation: Confirmation): Promise<Pressed> {
  const { id, client, email } = confirmation;
  // By what is known of the mailbox now: it may have been asked by the version before.
  const [mailbox_digest = confirmation.mailbox_digest] =
    email === null ? [] : await parts.mailboxes.digestsOf(email);
  if (await parts.executions.asked.report({ id, client, mailbox_digest })) {
    parts.metrics.countConfirmation('reported');
    parts.log.warn(about(confirmation), 'a person did not ask for this');
    parts.alerts.reported();
  }
  return { kind: 'done' };
}

async function mailCode(parts: PressParts, confirmation: Confirmation): Promise<Pressed> {
  if (confirmation.via !== 'page_email') return { kind: 'unknownButton' };
  if (!parts.mailsCodes) return { kind: 'sendingNotConfigured' };
  const mailed = await parts.codes.mail(confirmation);
  if (mailed.kind !== 'tooMany') return { kind: 'done' };
  const { retryAfterSeconds } = mailed;
  const now = parts.clock.now();
  const endsMs = Date.parse(confirmation.expires_at) - now.getTime();
  if (retryAfterSeconds * 1000 < endsMs) return { kind: 'tooManyCodes', retryAfterSeconds };
  // Whoever waited would find the link ended.
  const kind = isCodeOut(confirmation, now) ? 'noFurtherCode' : 'noCode';
  return { kind, retryAfterSeconds };
}

async function checkCode(
  parts: PressParts,
  confirmation: Confirmation,
  code: string,
): Promise<Pressed> {
  if (confirmation.via !== 'page_email') return { kind: 'unknownButton' };
  const checked = await parts.codes.check(confirmation, code);
  if (checked.kind === 'right') return { kind: 'unmasked', confirmation };
  if (checked.kind === 'wrong') return { kind: 'wrongCode', confirmation, left: checked.left };
  if (checked.expired) {
    parts.metrics.countConfirmation('expired');
    parts.log.warn(about(confirmation), 'a confirmation ended after five wrong codes');
  }
  return { kind: 'done' };
}

const about = ({ id, client, action }: Confirmation) => ({ confirmationId: id, client, action });
