/**
 * Declining a preview in a host’s form (reference §8.8), and refusing what is not confirmed. The row of a decline is
 * written by the statement that also claims.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { declinePreview, type ExecuteParts, executePreview, refuseUnconfirmed } from '../../src/actions/execute.ts';
import { openExecutions } from '../../src/actions/executions.ts';
import { forms } from '../../src/forms/catalog.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { newId } from '../../src/platform/random.ts';
import type { Storage } from '../../src/storage/database.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { fresh, keep, parts, type Request, unreported } from '../support/executions.ts';

describe.each(databases)('decline on %s', (_name, create) => {
  let database: TestDatabase;
  let storage: Storage;
  beforeAll(async () => {
    database = await create();
    storage = await database.open(systemClock);
  });
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  const no = (over: Partial<Request> = {}) => fresh({ confirmation_text: '', confirmed_via: 'client_form', ...over });
  const open = () => openExecutions({ ...parts, storage });

  test('stores a declined preview that nobody can claim or settle', async () => {
    const executions = open();
    const request = no();
    expect(await executions.decline(request)).toBe(true);
    const { preview_digest } = request;
    expect(await executions.claim(fresh({ preview_digest }), keep, unreported)).toBeUndefined();
    expect(await executions.decline(no({ preview_digest }))).toBe(false);
    await executions.settleExpired();
    const { byKey } = await executions.find('acme', request.idempotency_key, preview_digest);
    expect(byKey).toMatchObject({ status: 'declined', confirmed_via: 'client_form' });
  });

  test('returns false for a preview that is already executing', async () => {
    const executions = open();
    const request = fresh();
    await executions.claim(request, keep, unreported);
    const { preview_digest } = request;
    expect(await executions.decline(no({ preview_digest }))).toBe(false);
  });

  test('applies only one of a claim and a decline that arrive at the same time', async () => {
    for (let n = 0; n < 10; n += 1) {
      const preview_digest = randomUUID();
      const [claim, declined] = await Promise.all([
        open().claim(fresh({ preview_digest }), keep, unreported),
        open().decline(no({ preview_digest })),
      ]);
      expect([claim !== undefined, declined].filter(Boolean)).toHaveLength(1);
    }
  });

  /** Returns the parts of an execution into the embedded inbox, and the attempts that they counted. */
  function inboxParts(over: Partial<ExecuteParts> = {}) {
    const counted: string[][] = [];
    const executions = openExecutions({ ...parts, storage, embedded: true });
    const scopes = new Set(['lead:create']);
    const fixed = {
      ...{ executions, newId, clock: systemClock, parties: { contractor: { id: 'c-1', name: 'Vetted Painters' } } },
      ...{ upstream: { embedded: true }, credentials: { find: () => ({ name: 'acme', scopes, sandbox: false }) } },
      ...{ confirmationMinimum: { contact: 'page' }, log: { info: () => {} } },
      mailboxes: { hasReported: async () => false, digestOf: async () => unreported },
      metrics: { countExecution: () => {}, countAttempt: (...labels: string[]) => void counted.push(labels) },
      ...over,
    } as unknown as ExecuteParts;
    return { fixed, counted };
  }
  const fields = { name: 'Ada', email: 'ada@example.com', subject: 's', message: 'm' };
  const opened = (request = fresh()) => ({ kind: 'open' as const, form: forms.contact, fields, execution: request });
  const byAcme = { authorization: ['Bearer one'], traceparent: undefined };

  test('declinePreview stores the decline without a confirmation, and repeats its result', async () => {
    const { fixed } = inboxParts();
    const preview = opened();
    for (let times = 0; times < 2; times += 1) {
      expect(await declinePreview(fixed, preview)).toEqual({ kind: 'confirmationDeclined' });
    }
    const { client, idempotency_key, preview_digest } = preview.execution;
    const { byKey } = await fixed.executions.find(client, idempotency_key, preview_digest);
    expect(byKey).toMatchObject({ status: 'declined', confirmation_text: '', confirmed_via: 'client_form' });
  });

  test('declinePreview returns inProgress if the row that won is gone', async () => {
    const { fixed } = inboxParts();
    const executions = { ...fixed.executions, decline: async () => false };
    expect(await declinePreview({ ...fixed, executions }, opened())).toEqual({ kind: 'inProgress' });
  });

  test('executePreview counts an attempt of the embedded inbox, and needs parties and an upstream', async () => {
    const { fixed, counted } = inboxParts();
    const preview = { ...opened(), confirmedVia: 'agent' as const };
    for (const missing of [{ parties: undefined }, { upstream: undefined }]) {
      expect(await executePreview({ ...fixed, ...missing }, byAcme, preview)).toEqual({ kind: 'actionsNotConfigured' });
    }
    expect(await executePreview(fixed, byAcme, preview)).toMatchObject({ kind: 'submitted', replay: false });
    expect(counted).toEqual([['confirmed', 'first']]);
  });

  test('refuseUnconfirmed refuses a reported client first, and then a weaker confirmation than the minimum', async () => {
    const { fixed } = inboxParts();
    expect(await refuseUnconfirmed(fixed, opened(), 'page')).toBeUndefined();
    expect(await refuseUnconfirmed(fixed, opened(), 'client_form')).toEqual({ kind: 'humanConfirmationRequired' });
    const asked: string[][] = [];
    const hasReported = async (...of: string[]) => asked.push(of) > 0;
    const reported = { ...fixed, mailboxes: { ...fixed.mailboxes, hasReported } };
    expect(await refuseUnconfirmed(reported, opened(), 'agent')).toEqual({ kind: 'clientReported' });
    expect(asked).toEqual([['acme', 'ada@example.com']]);
  });
});
