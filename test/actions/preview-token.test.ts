import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  digestOfPreview,
  openPreview,
  PREVIEW_LIFETIME_MS,
  type Preview,
  sealPreview,
} from '../../src/actions/preview-token.ts';
import { codePoint } from '../support/code-point.ts';

const key = randomBytes(32);
const now = new Date('2026-09-01T12:00:00.000Z');
const sealed: Preview = {
  action: 'contact',
  fields: { name: 'Ada' },
  destination: 'Service',
  createdAt: now.getTime(),
};
const at = (ms: number) => new Date(now.getTime() + ms);

describe('preview tokens', () => {
  test('openPreview returns the preview that was sealed, for arbitrary fields', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string({ minLength: 1 }).filter((name) => name !== '__proto__'),
          fc.string({ unit: 'grapheme' }),
        ),
        (fields) => {
          const preview = { ...sealed, fields };
          expect(openPreview([key], sealPreview([key], preview), now)).toEqual({
            kind: 'open',
            preview,
          });
        },
      ),
    );
  });

  test('accepts a token for ten minutes and refuses it one millisecond later', () => {
    const token = sealPreview([key], sealed);
    expect(openPreview([key], token, at(PREVIEW_LIFETIME_MS - 1)).kind).toBe('open');
    expect(openPreview([key], token, at(PREVIEW_LIFETIME_MS)).kind).toBe('expired');
    expect(PREVIEW_LIFETIME_MS).toBe(600_000);
  });

  test('rejects a token whose creation time is more than a minute in the future', () => {
    const token = sealPreview([key], sealed);
    expect(openPreview([key], token, at(-60_000)).kind).toBe('open');
    expect(openPreview([key], token, at(-60_001)).kind).toBe('future');
    expect(openPreview([key], token, at(-3_600_000)).kind).toBe('future');
    expect(openPreview([randomBytes(32)], token, at(-3_600_000)).kind).toBe('forged');
  });

  test('rejects a token with any changed, added or removed character', () => {
    const token = sealPreview([key], sealed);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ ~\n';
    for (let position = 0; position <= token.length; position += 1) {
      const [before, after] = [token.slice(0, position), token.slice(position + 1)];
      for (const character of ['', ...alphabet]) {
        const changed = before + character + after;
        if (changed !== token) expect(openPreview([key], changed, now).kind).toMatch(/malformed|forged/);
      }
      expect(openPreview([key], `${before}A${token.slice(position)}`, now).kind).toMatch(/malformed|forged/);
    }
  });

  test('rejects a token whose bytes are written in another base64 form', () => {
    const token = sealPreview([key], sealed);
    const [payload = '', signature = ''] = token.split('.');
    const standard = (part: string) => Buffer.from(part, 'base64url').toString('base64');
    for (const other of [
      `${token}=`,
      `${token}.`,
      `.${token}`,
      `${payload}=.${signature}`,
      `${payload}.${standard(signature)}`,
      `${standard(payload)}.${signature}`,
      ` ${token}`,
      `${token}\n`,
      `${payload}..${signature}`,
      payload,
      `${payload}.`,
      `.${signature}`,
      '',
      '.',
    ]) {
      if (other !== token) expect(openPreview([key], other, now).kind).toMatch(/malformed|forged/);
    }
  });

  test('rejects arbitrary text as a token and never throws', () => {
    fc.assert(fc.property(fc.string({ unit: codePoint }), (text) => openPreview([key], text, now).kind !== 'open'));
  });

  test('signs with the first key, verifies with all, and rejects a token of a removed key', () => {
    const older = randomBytes(32);
    const token = sealPreview([older], sealed);
    expect(openPreview([key, older], token, now).kind).toBe('open');
    expect(openPreview([key], token, now).kind).toBe('forged');
    expect(openPreview([older], sealPreview([key, older], sealed), now).kind).toBe('forged');
  });

  test('makes different tokens for the same fields in the same millisecond', () => {
    expect(sealPreview([key], sealed)).not.toBe(sealPreview([key], sealed));
  });

  test('throws if there is no key to sign with', () => {
    expect(() => sealPreview([], sealed)).toThrow('There is no key to sign with.');
  });

  test('returns the SHA-256 of a token in hex as its digest', () => {
    expect(digestOfPreview('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
