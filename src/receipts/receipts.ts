/**
 * Receipts as they are kept, and how one gets its signature (beyond §5). It is signed when it is first asked for
 * after its end, by one conditional update: of several who ask at once one signs, and all answer what stands. Its
 * disclosures are written in the same transaction, with the content, so that erasure and retention end both.
 */
import { type Receipt, receiptOf } from '../actions/receipt.ts';
import { randomSecret } from '../chance.ts';
import type { Clock } from '../clock.ts';
import type { ReceiptKeys } from '../settings/receipt-keys.ts';
import type { Selects, Storage } from '../storage/database.ts';
import { prepareBoth, prepareRead } from '../storage/prepare-query.ts';
import type { ConfirmedVia, ExecutionRow, SubmissionRow } from '../storage/schema.ts';
import { claimsOf } from './claims.ts';
import { digestOf, disclosureOf, SALT_BYTES, SEPARATOR, signClaims } from './sd-jwt.ts';

export type ReceiptsOptions = {
  storage: Storage;
  clock: Clock;
  keys: Pick<ReceiptKeys, 'signing'>;
  /** `BASE_URL`. */
  issuer: string;
};

/** What is answered of an execution that has ended. */
export type ReceiptRecord = {
  ok: true;
  receipt: Receipt;
  confirmed_via: ConfirmedVia;
  /** Null where there is no key to sign with. */
  signed_receipt: string | null;
  disclosures: string[];
};

export type Receipts = {
  /** What a client executed; undefined where there is nothing of it to tell. Throws `StorageUnavailable`. */
  find(
    client: string,
    actionId: string,
  ): Promise<{ kind: 'ended'; record: ReceiptRecord } | { kind: 'executing' } | undefined>;
};

/** With what is kept of its submission: null where there is none. */
type Kept = ExecutionRow & {
  [Name in 'event' | 'email' | 'disclosures']: SubmissionRow[Name] | null;
};

/** Its keys were read at the start: nothing is imported here. */
export function openReceipts({ storage, clock, keys, issuer }: ReceiptsOptions): Receipts {
  const queries = prepareReceiptQueries(storage);

  async function read(client: string, actionId: string): Promise<Kept | undefined> {
    return (await storage.read(queries.find({ client, action_id: actionId })))[0];
  }

  /** Signs it, unless somebody else has by now. */
  async function signOnce(row: Kept, by: NonNullable<ReceiptKeys['signing']>): Promise<void> {
    storage.requireRoom();
    const disclosures = fieldsOf(row).map(([name, value]) =>
      disclosureOf(randomSecret(SALT_BYTES), name, value),
    );
    const digests = disclosures.map(digestOf);
    const signed = signClaims(by, claimsOf(row, { issuer, signedAt: clock.now(), digests }));
    await storage.write(
      queries.sign({
        action_id: row.action_id,
        preview_digest: row.preview_digest,
        signed_receipt: signed,
        receipt_kid: by.kid,
        disclosures: disclosures.join(SEPARATOR),
      }),
    );
  }

  return {
    async find(client, actionId) {
      const row = await read(client, actionId);
      if (row?.status === 'executing') return { kind: 'executing' };
      if (row === undefined || !hasEnded(row)) return undefined;
      if (row.signed_receipt !== null || keys.signing === undefined) return ended(row);
      await signOnce(row, keys.signing);
      // Whoever signed it; and where the content has gone meanwhile, nothing of it is answered.
      const signed = await read(client, actionId);
      return signed && ended(signed);
    },
  };
}

/** What was declined has no receipt. */
function hasEnded({ status }: ExecutionRow): boolean {
  return status === 'submitted' || status === 'failed';
}

function ended(row: Kept): { kind: 'ended'; record: ReceiptRecord } {
  const record: ReceiptRecord = {
    ok: true,
    receipt: receiptOf(row),
    confirmed_via: row.confirmed_via,
    signed_receipt: row.signed_receipt,
    disclosures: row.disclosures && row.email !== null ? row.disclosures.split(SEPARATOR) : [],
  };
  return { kind: 'ended', record };
}

/** What is still kept of what was typed, in its order. */
function fieldsOf({ event }: Kept): [string, string][] {
  if (event === null) return [];
  return Object.entries(
    (JSON.parse(event) as { data: { fields: Record<string, string> } }).data.fields,
  );
}

type Signed = Pick<
  ExecutionRow,
  'action_id' | 'preview_digest' | 'signed_receipt' | 'receipt_kid'
> & {
  disclosures: string;
};

function prepareReceiptQueries(storage: Storage) {
  return {
    /** A row at most, with what is kept of its submission. */
    find: prepareRead(storage, (db: Selects, of: Pick<ExecutionRow, 'client' | 'action_id'>) =>
      db
        .selectFrom('executions')
        .leftJoin('submissions', 'submissions.id', 'executions.action_id')
        .selectAll('executions')
        .select(['submissions.event', 'submissions.email', 'submissions.disclosures'])
        .where('executions.action_id', '=', of.action_id)
        .where('executions.client', '=', of.client),
    ),

    /** Changes no row where it was signed before; writes no disclosure where the content has gone. */
    sign: prepareBoth<Signed>(
      storage,
      (db, of) =>
        db
          .updateTable('executions')
          .set({ signed_receipt: of.signed_receipt, receipt_kid: of.receipt_kid })
          .where('preview_digest', '=', of.preview_digest)
          .where('action_id', '=', of.action_id)
          .where('signed_receipt', 'is', null),
      (db, of, hasSigned) =>
        db
          .updateTable('submissions')
          .set({ disclosures: of.disclosures })
          .where('id', '=', of.action_id)
          .where('email', 'is not', null)
          .where(hasSigned),
    ),
  };
}
