/**
 * Reads receipts and signs them (reference §7.2). The first read after the end of an execution signs its receipt by one
 * conditional update. If reads are concurrent, one read signs, and all reads return the stored signature. The signing
 * transaction writes the disclosures into the row with the content. So erasure and retention delete both together.
 */
import type { QueryCreator } from 'kysely';
import { type AgentRequest, admitReader } from '../actions/authorize.ts';
import { type Receipt, receiptOf } from '../actions/executions.ts';
import type { Credentials } from '../credentials/file.ts';
import { API_VERSION } from '../discovery/deployment.ts';
import type { Clock } from '../platform/clock.ts';
import { isId, randomSecret } from '../platform/random.ts';
import type { ReceiptKeys } from '../settings/receipt-keys.ts';
import type { Selects, Storage } from '../storage/database.ts';
import { prepareBoth, prepareRead } from '../storage/queries.ts';
import type { ConfirmedVia, ExecutionRow, Schema, SubmissionRow } from '../storage/schema.ts';
import type { Event } from '../upstream/upstream.ts';
import { digestOf, disclosureOf, SALT_BYTES, SEPARATOR, signClaims } from './sd-jwt.ts';

/** The answer about an execution that has ended. */
type ReceiptRecord = {
  ok: true;
  receipt: Receipt;
  confirmed_via: ConfirmedVia;
  /** Null if no key is configured. */
  signed_receipt: string | null;
  disclosures: string[];
};

type ReadResult = { kind: 'found'; record: ReceiptRecord } | { kind: 'unknownReceipt' | 'inProgress' };

export type Receipts = ReturnType<typeof openReceipts>;

type ReceiptParts = { storage: Storage; clock: Clock; keys: Pick<ReceiptKeys, 'signing'>; issuer: string };

/** An execution with the stored content of its submission. The columns of the content are null if it is not stored. */
type ReceiptRow = ExecutionRow & { [Name in 'event' | 'email' | 'disclosures']: SubmissionRow[Name] | null };

/**
 * Handles GET of a receipt (reference §7.2).
 * @throws StorageUnavailable
 */
export async function readReceipt(
  parts: { credentials: Credentials; receipts: Receipts },
  request: AgentRequest & { actionId: string },
) {
  const caller = await admitReader(parts, request);
  if (caller.kind !== 'client') return caller;
  return await parts.receipts.find(caller.name, request.actionId);
}

/** Returns the function that reads a client's receipts. `issuer` is the setting `BASE_URL`. */
export function openReceipts({ storage, clock, keys, issuer }: ReceiptParts) {
  const queries = prepareReceiptQueries(storage);

  async function read(client: string, actionId: string): Promise<ReceiptRow | undefined> {
    return (await storage.read(queries.find({ client, action_id: actionId })))[0];
  }

  /** Signs the receipt, unless another process has signed it meanwhile. */
  async function signOnce(row: ReceiptRow, by: NonNullable<ReceiptKeys['signing']>): Promise<void> {
    storage.requireDiskSpace();
    const fields = row.event === null ? {} : (JSON.parse(row.event) as Event).data.fields;
    const disclosures = Object.entries(fields).map(([name, value]) =>
      disclosureOf(randomSecret(SALT_BYTES), name, value),
    );
    const claims = claimsOf(row, { issuer, signedAt: clock.now(), digests: disclosures.map(digestOf) });
    const { action_id, preview_digest } = row;
    const sign = row.sandbox === 1 ? queries.signInSandbox : queries.sign;
    await storage.write(
      sign({
        action_id,
        preview_digest,
        signed_receipt: signClaims(by, claims),
        receipt_kid: by.kid,
        disclosures: disclosures.join(SEPARATOR),
      }),
    );
  }

  return {
    /**
     * Returns the receipt of an execution of this client. Executions of other clients are unknown.
     * @throws StorageUnavailable
     */
    async find(client: string, actionId: unknown): Promise<ReadResult> {
      if (typeof actionId !== 'string' || !isId(actionId)) return UNKNOWN;
      const row = await read(client, actionId);
      if (row?.status === 'executing') return { kind: 'inProgress' };
      // A declined preview has no receipt.
      if (row?.status !== 'submitted' && row?.status !== 'failed') return UNKNOWN;
      if (row.signed_receipt !== null || keys.signing === undefined) return found(row);
      await signOnce(row, keys.signing);
      // Another process may have signed the receipt. If the content was deleted meanwhile, there are no disclosures.
      const signed = await read(client, actionId);
      return signed === undefined ? UNKNOWN : found(signed);
    },
  };
}

const UNKNOWN = { kind: 'unknownReceipt' } as const;

function found(row: ReceiptRow): ReadResult {
  const { confirmed_via, signed_receipt, disclosures: joined, email } = row;
  const disclosures = joined && email !== null ? joined.split(SEPARATOR) : [];
  return { kind: 'found', record: { ok: true, receipt: receiptOf(row), confirmed_via, signed_receipt, disclosures } };
}

/** Returns the claims of an execution that has ended, with a digest of each stored field (reference §7.2). */
export function claimsOf(
  row: ExecutionRow,
  { issuer, signedAt, digests }: { issuer: string; signedAt: Date; digests: readonly string[] },
) {
  const { action_id, result: _, ...receipt } = receiptOf(row);
  return {
    iss: issuer,
    iat: Math.floor(signedAt.getTime() / 1000),
    jti: action_id,
    ...receipt,
    confirmed_via: row.confirmed_via,
    client: row.client,
    ...(row.sandbox === 1 && { sandbox: true }),
    /** The recipient that the person saw. */
    destination: row.destination,
    /** SHA-256 of the preview token. */
    preview_digest: Buffer.from(row.preview_digest, 'hex').toString('base64url'),
    api_version: API_VERSION,
    _sd_alg: 'sha-256',
    // The digests are sorted, so that their order reveals nothing.
    _sd: [...digests].sort(),
  };
}

/** Returns the number of stored receipts that each key signed, by the name of the key. */
export async function keysThatSigned(storage: Storage): Promise<Map<string, number>> {
  const rows = await storage.read((db) =>
    db
      .selectFrom('executions')
      .select('receipt_kid')
      .select((row) => row.fn.countAll().as('receipts'))
      .where('receipt_kid', 'is not', null)
      .groupBy('receipt_kid'),
  );
  return new Map(rows.map(({ receipt_kid: kid, receipts }) => [String(kid), Number(receipts)]));
}

type Signed = Pick<ExecutionRow, 'action_id' | 'preview_digest' | 'signed_receipt' | 'receipt_kid'> & {
  disclosures: string;
};

const CONTENT = ['event', 'email', 'disclosures'] as const;

function prepareReceiptQueries(storage: Storage) {
  /** Changes nothing if the receipt is signed already. */
  const signReceipt = (db: QueryCreator<Schema>, of: Signed) =>
    db
      .updateTable('executions')
      .set({ signed_receipt: of.signed_receipt, receipt_kid: of.receipt_kid })
      .where('preview_digest', '=', of.preview_digest)
      .where('action_id', '=', of.action_id)
      .where('signed_receipt', 'is', null);

  return {
    /** Reads at most one execution, with the stored content of its submission. */
    find: prepareRead(storage, (db: Selects, of: Pick<ExecutionRow, 'client' | 'action_id'>) =>
      db
        .selectFrom('executions')
        .leftJoin('submissions', 'submissions.id', 'executions.action_id')
        .selectAll('executions')
        .leftJoin('sandbox_contents', 'sandbox_contents.id', 'executions.action_id')
        .select((row) =>
          CONTENT.map((name) => row.fn.coalesce(`submissions.${name}`, `sandbox_contents.${name}`).as(name)),
        )
        .where('executions.action_id', '=', of.action_id)
        .where('executions.client', '=', of.client),
    ),

    /** Writes no disclosure if the content was deleted. */
    sign: prepareBoth<Signed>(storage, signReceipt, (db, of, hasSigned) =>
      db
        .updateTable('submissions')
        .set({ disclosures: of.disclosures })
        .where('id', '=', of.action_id)
        .where('email', 'is not', null)
        .where(hasSigned),
    ),
    signInSandbox: prepareBoth<Signed>(storage, signReceipt, (db, of, hasSigned) =>
      db
        .updateTable('sandbox_contents')
        .set({ disclosures: of.disclosures })
        .where('id', '=', of.action_id)
        .where(hasSigned),
    ),
  };
}
