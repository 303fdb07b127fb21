/**
 * A token is valid only with our signature for its purpose (ASVS 9.1.1, 9.2.2). For characters and spellings, see
 * test/actions/preview-token.test.ts. This file covers bits, other purposes and HTTP.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { openPreview, sealPreview } from '../../src/actions/preview-token.ts';
import { executeAction, previewAction, previewId, quote } from '../support/agent.ts';
import { scenario } from '../support/scenario.ts';
import { tokens } from '../support/service.ts';

const at = scenario();
const key = randomBytes(32);
const now = new Date('2026-09-01T12:00:00.000Z');
const preview = {
  action: 'contact' as const,
  fields: { name: 'Ada' },
  destination: 'Paint Match',
  createdAt: now.getTime(),
};
const token = sealPreview([key], preview);
const [payload = '', signature = ''] = token.split('.');
const open = (text: string, keys = [key]) => openPreview(keys, text, now).kind;
const mac = (algorithm: string, secret: Buffer, text: string) =>
  createHmac(algorithm, secret).update(text).digest('base64url');

describe('token forgery', () => {
  test('rejects every flipped bit of the payload and of the signature', () => {
    expect(open(token)).toBe('open');
    for (const [part, other] of [
      [0, signature],
      [1, payload],
    ] as const) {
      const bytes = Buffer.from([payload, signature][part] ?? '', 'base64url');
      for (let bit = 0; bit < bytes.length * 8; bit += 1) {
        const flipped = Buffer.from(bytes);
        flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const text = flipped.toString('base64url');
        expect(open(part === 0 ? `${text}.${other}` : `${other}.${text}`)).toBe('forged');
      }
    }
    // Flip every bit of the text, too. Some flips leave the alphabet.
    for (let bit = 0; bit < token.length * 8; bit += 1) {
      const flipped = Buffer.from(token);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(open(flipped.toString('latin1'))).toMatch(/^(forged|malformed)$/);
    }
  });

  test('rejects every changed character of a token with a 2,000-character field', () => {
    const long = sealPreview([key], { ...preview, fields: { message: 'é'.repeat(2_000) } });
    expect(long.length).toBeGreaterThan(5_000);
    expect(open(long)).toBe('open');
    for (let position = 0; position < long.length; position += 1) {
      const other = long[position] === 'A' ? 'B' : 'A';
      const changed = long.slice(0, position) + other + long.slice(position + 1);
      expect([position, open(changed)]).not.toEqual([position, 'open']);
    }
  });

  test.each([
    ['no purpose', payload],
    ['another purpose', `lead-intake receipt v1\n${payload}`],
    ['another version', `lead-intake preview v2\n${payload}`],
    ['the purpose without its end', `lead-intake preview v1${payload}`],
    ['the decoded payload', Buffer.from(payload, 'base64url').toString()],
    ['the purpose after the payload', `${payload}lead-intake preview v1\n`],
    ['a webhook’s form', `${payload}.1788264000.${payload}`],
  ])('rejects a signature by the right key over %s', (_name, signed) => {
    expect(open(`${payload}.${mac('sha256', key, signed)}`)).toBe('forged');
  });

  test('the signature covers the purpose, the version and the payload', () => {
    expect(signature).toBe(mac('sha256', key, `lead-intake preview v1\n${payload}`));
  });

  test.each([
    ['another algorithm', mac('sha512', key, `lead-intake preview v1\n${payload}`).slice(0, 43)],
    ['SHA-256 without a key', createHash('sha256').update(payload).digest('base64url')],
    ['an empty key', mac('sha256', Buffer.alloc(0), `lead-intake preview v1\n${payload}`)],
    ['a key of zeros', mac('sha256', Buffer.alloc(32), `lead-intake preview v1\n${payload}`)],
    ['zeros', 'A'.repeat(43)],
    ['the payload itself', payload.slice(0, 43)],
  ])('rejects a signature made with %s', (_name, forged) => {
    expect(open(`${payload}.${forged}`)).toBe('forged');
  });

  test('verifies the signature before it parses the payload', () => {
    for (const text of ['not JSON', '{"t":', 'null', '[]', '{"__proto__":1}', '\xff\xfe']) {
      const encoded = Buffer.from(text, 'latin1').toString('base64url');
      expect(open(`${encoded}.${signature}`)).toBe('forged');
    }
  });

  test('rejects a valid token if there is no key', () => {
    expect(open(token, [])).toBe('forged');
  });
});

describe('token confusion', () => {
  test('rejects a preview token as a credential, and a credential or an action id as a preview', async () => {
    const preview = await previewId(at.service);
    const asBearer = await previewAction(at.service, 'homeowner_quote', quote, { token: preview });
    expect(asBearer.status).toBe(401);
    for (const wrong of [tokens.both, `${tokens.both}.${'A'.repeat(43)}`, `Bearer ${preview}`]) {
      const answer = await at.expecting({}, () => executeAction(at.service, wrong));
      expect(answer.status).toBe(400);
    }
    const executed = await executeAction(at.service, preview);
    const { action_id: actionId } = executed.body.receipt;
    expect((await at.expecting({}, () => executeAction(at.service, actionId))).status).toBe(400);
    expect((await previewAction(at.service, 'contact', {}, { token: actionId })).status).toBe(401);
  });

  test('rejects a token made of parts of two valid tokens', async () => {
    const [first = '', second = ''] = [await previewId(at.service), await previewId(at.service)];
    const mixed = `${first.split('.')[0]}.${second.split('.')[1]}`;
    expect((await at.expecting({}, () => executeAction(at.service, mixed))).status).toBe(400);
  });

  test('accepts a preview only for its own action, and only as a string', async () => {
    const preview = await previewId(at.service);
    for (const action of ['contact', 'newsletter', 'contractor_signup']) {
      const answer = await at.expecting({}, () => executeAction(at.service, preview, { action }));
      expect(answer.status).toBe(400);
    }
    for (const wrong of [[preview], { preview }, 1, true, null]) {
      const answer = await at.expecting({}, () => executeAction(at.service, wrong));
      expect(answer.status).toBe(400);
    }
  });
});
