/** Types of a simulated process of the service, and of the parts that the run gives it. */
import type { PreviewResult } from '../src/actions/preview.ts';
import type { ExecuteResult } from '../src/actions/preview-token.ts';
import type { FormResult } from '../src/intake/leads.ts';
import type { Mailer } from '../src/mail/mail.ts';
import type { Outbox } from '../src/mail/outbox.ts';
import type { SubscriptionLinks } from '../src/newsletter/confirm-and-unsubscribe.ts';
import type { readReceipt } from '../src/receipts/receipts.ts';
import type { SigningKeys } from '../src/settings/signing-keys.ts';
import type { Storage } from '../src/storage/database.ts';
import type { Upstream } from '../src/upstream/upstream.ts';
import type { Confirming } from './confirming.ts';
import type { Connecting } from './connecting.ts';
import type { Desk } from './console.ts';
import type { Extras } from './extras.ts';
import type { Ledger } from './ledger.ts';
import type { SimulatedProcess } from './process.ts';

export type Service = Confirming & {
  process: SimulatedProcess;
  storage: Storage;
  outbox: Outbox | undefined;
  /** The signing keys, which are replaced when the keys are rotated. */
  signingKeys: SigningKeys;
  retain(): Promise<number>;
  /** Accepts a request. Returns undefined if the port is closed. */
  serve<T>(ask: (service: Service) => Promise<T>): Promise<T> | undefined;
  /** Starts the real drain, like SIGTERM. The process ends after the drain. */
  drain(): void;
  preview(client: string, action: string, body: object): Promise<PreviewResult>;
  execute(client: string, action: string, key: string, body: object): Promise<ExecuteResult>;
  readReceipt(client: string, actionId: string): ReturnType<typeof readReceipt>;
  post(form: 'lead' | 'subscription', body: object): Promise<FormResult>;
  /** A subscriber's own links. */
  subscriptionLinks: SubscriptionLinks;
  /** The console and OAuth, which the first use opens. */
  desk: Desk;
  connecting: Connecting;
};

export type ServiceParts = {
  process: SimulatedProcess;
  storage: Storage;
  upstream: Upstream;
  mailer: Mailer | undefined;
  signingKeys: SigningKeys;
  upstreamTimeoutMs: number;
  mailPerMinute: number;
  /** The setting `REDELIVERY`. `keepsDelivered` is true if delivered submissions keep their content. */
  redelivery: boolean;
  /** True if a sandbox client takes part in the run. */
  hasTester: boolean;
  keepsDelivered: boolean;
  extras: Extras;
  ledger: Ledger;
  randomInt(limit: number): number;
  randomSecret(bytes: number): Buffer;
  /** Called for each submission that is sent while the store is unavailable. */
  onUnstored(id: string): void;
  /** Receives errors of background work. */
  onError(error: unknown): void;
};
