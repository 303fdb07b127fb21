/**
 * Handles the buttons of a confirmation page (reference §6.11). To confirm, one conditional update claims the row. Then
 * the execution runs as for an agent, so a confirmation sends at most once.
 */
import { type ExecuteParts, partsFor, sendClaimed, submissionOf } from '../actions/execute.ts';
import { CONFIRMATION_STATEMENT } from '../actions/preview.ts';
import { scopeOf } from '../credentials/clients.ts';
import type { PressRefusal } from '../failures/refusals.ts';
import { findForm } from '../forms/catalog.ts';
import type { Fields } from '../forms/validate.ts';
import type { Rate } from '../limits/limits.ts';
import type { Metrics } from '../platform/metrics.ts';
import { destinationOf } from '../submissions/submission.ts';
import type { Codes } from './codes.ts';
import { type Confirmation, type Confirmations, isCodeOut } from './confirmations.ts';
import type { PendingConfirmations } from './pending.ts';
import type { SandboxConfirmationParts } from './request-confirmation.ts';
import { digestOfSecret, isPageToken } from './tokens.ts';

export type AnswerParts = ExecuteParts & {
  confirmations: Confirmations;
  pending: Pick<PendingConfirmations, 'end' | 'report'>;
  codes: Codes;
  /** True if the service can mail codes. */
  mailsCodes: boolean;
  alerts: { raise(kind: 'reported', client: string): void };
  metrics: Pick<Metrics, 'countConfirmation'>;
  sandbox: SandboxConfirmationParts;
};

export type SendParts = Pick<
  AnswerParts,
  'credentials' | 'executions' | 'parties' | 'signingKeys' | 'upstream' | 'newId' | 'clock' | 'log' | 'metrics'
>;

/** The values that the form of a button sends. */
export type Button =
  | { do: 'send' | 'change'; token: string }
  | { do: 'decline' | 'report' | 'code' }
  | { do: 'check'; code: string };

export type AnswerRequest = {
  secret: string;
  takeFromLimit(): Promise<Rate>;
  /** False if the browser says that another site made the request. */
  isFromOurPage: boolean;
  /** True if the request says that it is automated (Web Bot Auth). */
  isSigned: boolean;
  /** Returns the button in the body, or undefined for any other body. */
  readButton(): Promise<Button | undefined>;
  traceparent: string | undefined;
};

export type Answered =
  /** The page shows the result. */
  | { kind: 'done' }
  /** The person declined, and gets the form with the fields to change them. */
  | { kind: 'changed'; confirmation: Confirmation }
  /** A code was checked. After a wrong code, `left` is the number of remaining attempts. */
  | {
      kind: 'checked';
      shown: { confirmation: Confirmation } & ({ unmasked: true } | { left: number });
    }
  | PressRefusal;

/**
 * Carries out the button that the person used.
 * @throws StorageUnavailable
 */
export async function answerConfirmation(all: AnswerParts, request: AnswerRequest): Promise<Answered> {
  const rate = await request.takeFromLimit();
  if (rate.exceeded) return { kind: 'pressTooOften', retryAfterSeconds: rate.resetSeconds };

  if (!request.isFromOurPage) return { kind: 'pressFromElsewhere' };
  if (request.isSigned) return { kind: 'pressByAgent' };

  const digest = digestOfSecret(request.secret);
  const confirmation = digest && (await all.confirmations.findBySecret(digest));
  if (!confirmation) return { kind: 'unknownLink' };
  const parts = partsFor(all, confirmation);

  const button = await request.readButton();
  if (button === undefined) return { kind: 'unknownButton' };
  if (confirmation.execution.status !== 'asked') return { kind: 'done' };

  switch (button.do) {
    case 'send':
      if (!isPageToken(parts.signingKeys, confirmation.id, button.token, parts.clock.now()))
        return { kind: 'pageTooOld' };
      return await sendConfirmed(parts, confirmation, request.traceparent);
    case 'change':
      return await change(parts, confirmation, button.token);
    case 'decline':
      await decline(parts, confirmation);
      return { kind: 'done' };
    case 'report':
      return await report(parts, confirmation);
    case 'code':
      return await mailCode(parts, confirmation, request.secret);
    case 'check':
      return await checkCode(parts, confirmation, button.code);
  }
}

/** Claims and sends a pending confirmation. The caller has checked that the person, or a test, confirms it. */
export async function sendConfirmed(
  parts: SendParts,
  confirmation: Confirmation,
  traceparent?: string,
): Promise<Answered> {
  const { id, client, via, destination, fields, execution } = confirmation;
  const { credentials, executions, parties } = parts;
  if (!credentials.mayStill(client, scopeOf.execute, confirmation.sandbox === 1)) return { kind: 'clientNotAllowed' };

  const form = findForm(confirmation.action);
  // Without an upstream there are no parties.
  if (parties === undefined || form === undefined) return { kind: 'sendingNotConfigured' };
  if (destination !== destinationOf(form, parties)) return { kind: 'destinationChanged' };
  // A confirmation that has ended has no fields.
  if (fields === null) return { kind: 'done' };

  const confirmed = {
    action_id: id,
    action: form.name,
    client,
    idempotency_key: execution.idempotency_key,
    preview_digest: execution.preview_digest,
    confirmation_text: CONFIRMATION_STATEMENT,
    confirmed_via: via,
    destination,
    press_id: parts.newId(),
  };
  const content = { form, fields: JSON.parse(fields) as Fields };
  const claim = await executions.confirm(confirmed, submissionOf(confirmed, content, parties));
  if (claim === undefined) return { kind: 'done' };
  const result = await sendClaimed(parts, claim, form, traceparent);
  parts.metrics.countConfirmation(result.kind === 'submitted' ? 'submitted' : 'failed');
  return { kind: 'done' };
}

/** Declines, and hands the fields to the person. The token shows that the person has seen the fields. */
async function change(parts: AnswerParts, confirmation: Confirmation, token: string): Promise<Answered> {
  if (!isPageToken(parts.signingKeys, confirmation.id, token, parts.clock.now())) return { kind: 'pageTooOld' };
  return (await decline(parts, confirmation)) ? { kind: 'changed', confirmation } : { kind: 'done' };
}

/** Returns false if the confirmation is no longer pending. */
export async function decline(
  parts: Pick<AnswerParts, 'metrics' | 'log'> & { pending: Pick<PendingConfirmations, 'end'> },
  confirmation: Confirmation,
): Promise<boolean> {
  const isDeclined = await parts.pending.end(confirmation, 'declined');
  if (isDeclined) {
    parts.metrics.countConfirmation('declined');
    parts.log.info(logged(confirmation), 'confirmation declined');
  }
  return isDeclined;
}

async function report(parts: AnswerParts, confirmation: Confirmation): Promise<Answered> {
  const ended = await parts.pending.report(confirmation);
  if (ended > 0) {
    parts.metrics.countConfirmation('reported', ended);
    parts.log.warn({ ...logged(confirmation), ended }, 'confirmation reported');
    if (confirmation.sandbox === 0) parts.alerts.raise('reported', confirmation.client);
  }
  return { kind: 'done' };
}

async function mailCode(parts: AnswerParts, confirmation: Confirmation, secret: string): Promise<Answered> {
  if (confirmation.via !== 'page_email') return { kind: 'unknownButton' };
  if (!parts.mailsCodes) return { kind: 'sendingNotConfigured' };
  const mailed = await parts.codes.mail(confirmation, secret);
  if (mailed.kind !== 'tooMany') return { kind: 'done' };
  const { retryAfterSeconds } = mailed;
  const now = parts.clock.now();
  const endsMs = Date.parse(confirmation.expires_at) - now.getTime();
  if (retryAfterSeconds * 1000 < endsMs) return { kind: 'tooManyCodes', retryAfterSeconds };
  // The link expires before another code can be mailed.
  const kind = isCodeOut(confirmation, now) ? 'noFurtherCode' : 'noCode';
  return { kind, retryAfterSeconds };
}

async function checkCode(parts: AnswerParts, confirmation: Confirmation, code: string): Promise<Answered> {
  if (confirmation.via !== 'page_email') return { kind: 'unknownButton' };
  const checked = await parts.codes.check(confirmation, code);
  if (checked.kind === 'right') return { kind: 'checked', shown: { confirmation, unmasked: true } };
  if (checked.kind === 'wrong') {
    return { kind: 'checked', shown: { confirmation, left: checked.left } };
  }
  if (checked.expired) {
    parts.metrics.countConfirmation('expired');
    parts.log.warn(logged(confirmation), 'confirmation expired after five wrong codes');
  }
  return { kind: 'done' };
}

const logged = ({ id, client, action }: Confirmation) => ({ confirmationId: id, client, action });
