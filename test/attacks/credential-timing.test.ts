/**
 * How long a check of a secret takes says nothing of the secret (ASVS 11.2.4). The statistics are in
 * `slow/credential-timing.test.ts`; this is the rule about the source.
 */
import { type BinaryExpression, SyntaxKind } from 'typescript/unstable/ast';
import { describe, expect, test } from 'vitest';
import { nodesOfSource } from '../support/syntax.ts';

const SECRET = /signature|hmac|\bmac\b|secret|token|digest|sha256|password|credential|\bkey/i;

/** Comparisons that tell nobody anything by their time, and why. */
const HARMLESS: Record<string, string> = {
  'byKey.preview_digest !== previewDigest':
    'a digest of what the caller sent, and the answer says whether they are equal',
  'row.preview_digest === previewDigest': 'the same, after the database has looked it up by it',
  'key?.made === true': 'whether a key was made',
  'signing_key === nameOf(key)': 'what the service’s own keys are called, which no caller names',
  'resolve(credentialsFile) !== path': 'paths',
  'each.id !== credentialId': 'names of credentials, in the operator’s own command',
};

describe('timing of credential and token checks', () => {
  test('no secret is compared with ===: what is compared so is listed here with the reason', () => {
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
      // Whether there is one, how long or of which kind it is: no comparison of secrets.
      .filter(({ text }) => !/(===|!==) (undefined|null|\d+|'[^']*')$|\.length\b/.test(text))
      .filter(
        ({ path, text }) => SECRET.test(text) && /credentials|actions|first-run|http/.test(path),
      );
    expect(comparisons.filter(({ text }) => !(text in HARMLESS))).toEqual([]);
  });

  test('a token is looked up by its digest, and a signature compared in constant time', () => {
    const callers = nodesOfSource(SyntaxKind.CallExpression)
      .filter(({ text }) => text.startsWith('timingSafeEqual('))
      .map(({ path }) => path);
    expect(callers.sort()).toEqual([
      'src/actions/preview-token.ts',
      'src/confirmations/secrets.ts',
      'src/credentials/file.ts',
      'src/mcp/question.ts',
    ]);
    const lookUps = nodesOfSource(SyntaxKind.CallExpression).filter(({ text }) =>
      /^credentials\.find\(/.test(text),
    );
    expect(lookUps).toHaveLength(1);
    for (const { text } of lookUps) expect(text).toContain('digestOfToken(');
  });
});
