/**
 * The duration of a check reveals nothing of the secret (ASVS 11.2.4). This file checks a rule about the source. For the
 * statistics, see `slow/credential-timing.test.ts`.
 */
import { type BinaryExpression, SyntaxKind } from 'typescript/unstable/ast';
import { describe, expect, test } from 'vitest';
import { nodesOfSource } from '../support/syntax.ts';

const SECRET = /signature|hmac|\bmac\b|secret|token|digest|sha256|password|credential|\bkey/i;

/** Comparisons whose duration reveals no secret, with the reason. */
const HARMLESS: Record<string, string> = {
  'byKey.preview_digest !== previewDigest':
    'a digest of what the caller sent, and the answer says whether they are equal',
  'row.preview_digest === previewDigest': 'the same, after the database has looked it up by it',
  'key?.made === true': 'whether a key was made',
  'resolve(credentialsFile) !== path': 'paths',
  'id === credentialId': 'names of credentials, in the operator’s own command',
  'each.mailbox_digest === mailbox_digest': 'digests of mailboxes, both of this database’s rows',
  'row.mailbox_digest === mailbox_digest': 'digests of mailboxes, both of this database’s rows',
};

describe('timing of credential and token checks', () => {
  test('src compares no secret with ===, except in the listed comparisons, each with a reason', () => {
    const comparisons = nodesOfSource(SyntaxKind.BinaryExpression)
      .filter(({ node }) => {
        const { operatorToken } = node as BinaryExpression;
        return [
          SyntaxKind.EqualsEqualsEqualsToken,
          SyntaxKind.ExclamationEqualsEqualsToken,
          SyntaxKind.EqualsEqualsToken,
          SyntaxKind.ExclamationEqualsToken,
        ].includes(operatorToken.kind);
      })
      .map(({ path, text }) => ({ path, text: text.replace(/\s+/g, ' ') }))
      // A comparison with undefined, null, a number or a fixed text compares no secret.
      .filter(({ text }) => !/(===|!==) (undefined|null|\d+|'[^']*')$|\.length\b/.test(text))
      .filter(({ path, text }) => SECRET.test(text) && /credentials|actions|first-run|http/.test(path));
    expect(comparisons.filter(({ text }) => !(text in HARMLESS))).toEqual([]);
  });

  test('a token is found by its digest, and a signature is compared in constant time', () => {
    const callers = nodesOfSource(SyntaxKind.CallExpression)
      .filter(({ text }) => text.startsWith('timingSafeEqual('))
      .map(({ path }) => path);
    expect(callers.sort()).toEqual(['src/credentials/file.ts', 'src/oauth/secrets.ts', 'src/settings/signing-keys.ts']);
    const lookUps = nodesOfSource(SyntaxKind.CallExpression).filter(({ text }) => /^credentials\.find\(/.test(text));
    expect(lookUps.length).toBeGreaterThan(1);
    for (const { text } of lookUps)
      expect(text).toMatch(/\((?:digestOfToken\(|digest\)|(?:authorization\.)?credential\))/);
  });
});
