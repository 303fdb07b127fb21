/** Runs examples/agent.ts as a maker does with a sandbox token, once for each outcome (reference §27.8). */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONFIRMATION_STATEMENT } from '../../src/actions/preview.ts';
import { type Ran, ranToTheEnd } from '../support/ran.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

const example = resolve(import.meta.dirname, '../../examples/agent.ts');
const AGAIN = 'Call preview again, show the user the new preview and ask for their confirmation.';
const UNSURE = 'Tell the user that it may not have arrived.';
const DONE = 'Submitted as a test, so sent to nobody; the receipt is in receipts.jsonl.';

let upstream: ProgrammableUpstream;
let service: Service;
beforeAll(async () => {
  upstream = await startUpstream();
  service = await startService({ environment: { UPSTREAM_URL: upstream.url } });
});
afterAll(async () => {
  await service.close();
  await upstream.close();
});

/** Runs the example for this local part of an address, and returns what it printed, with the receipts that it stored. */
async function runFor(
  local: string,
  option: string,
  { url } = service,
): Promise<Ran & { receipts: { status: string }[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-'));
  const fields = ['name=Ada', `email=${local}@example.com`, 'postal_code=94110'];
  const child = spawn(process.execPath, [example, option, 'homeowner_quote', ...fields], {
    cwd: folder,
    env: { BASE_URL: url, TOKEN: tokens.sandbox },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ran = await ranToTheEnd(child);
  const path = join(folder, 'receipts.jsonl');
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : [];
  rmSync(folder, { recursive: true, force: true });
  return { ...ran, receipts: lines.map((line) => JSON.parse(line)) };
}

/** Lines that the example prints before the outcome. */
const shown = (local: string) => [
  'This is a sandbox client: a test, and nothing leaves the service.',
  '  name: Ada',
  `  email: ${local}@example.com`,
  '  postal_code: 94110',
  'These details go to Vetted Painters.',
  CONFIRMATION_STATEMENT,
];

type Outcome = [local: string, option: string, status: number, said: string[], receipts: string[]];

// A new confirmation ends an earlier one of the same mailbox, and a mailbox has no tag. So each address with a
// confirmation has its own name.
const outcomes: Outcome[] = [
  ['ada', '--yes', 0, [DONE], ['submitted']],
  ['ada+slow', '--yes', 0, [DONE], ['submitted']],
  ['ada+rejected', '--yes', 1, [`422: The destination rejected the submission. ${AGAIN}`, UNSURE], ['failed']],
  [
    'ada+limited',
    '--yes',
    1,
    [`429: The destination accepts no more submissions for now. Wait 30 seconds. ${AGAIN}`, UNSURE],
    ['failed'],
  ],
  [
    'ada+unconfirmed',
    '--yes',
    1,
    [`502: The destination could not confirm the submission. ${AGAIN}`, UNSURE],
    ['failed'],
  ],
  ['bea+presses', '--page', 0, [DONE], ['submitted']],
  ['cleo+declines', '--page', 1, ['The confirmation ended as declined. Nothing was sent.'], []],
  ['dot+presses+rejected', '--page', 1, [`The confirmation ended as failed. ${UNSURE}`], ['failed']],
];

describe.concurrent('examples/agent.ts with a sandbox token', () => {
  test.each(outcomes)('says how it ended for %s with %s, exits with %i and stores the receipt', async (...outcome) => {
    const [local, option, status, said, receipts] = outcome;
    const ran = await runFor(local, option);
    const lines = ran.stderr.trimEnd().split('\n');
    if (option === '--page') {
      const [link] = lines.splice(shown(local).length, 1);
      expect(link).toMatch(
        new RegExp(`^Open this page, check the details and confirm there: ${service.url}/confirm/[\\w-]{22}$`),
      );
    }
    expect(lines).toEqual([...shown(local), ...said]);
    expect([ran.status, ran.receipts.map((receipt) => receipt.status)]).toEqual([status, receipts]);
    expect(ran.stdout).toBe(status === 0 ? `${JSON.stringify(ran.receipts[0])}\n` : '');
    expect(upstream.delivered).toEqual([]);
  });
});

test('the reference has a row for each of these outcomes', () => {
  const chapter = readFileSync('docs/reference/27-sandbox.md', 'utf8');
  const rows = [...chapter.matchAll(/^\| `(\S+)@example\.com` \| `(--\w+)` \| (\d) \| `(.*)` \|$/gm)];
  expect(
    rows.map(([, local, option, status, words]) => [local, option, Number(status), words?.split('`<br>`')]),
  ).toEqual(outcomes.map(([local, option, status, said]) => [local, option, status, said]));
});

test('examples/agent.ts uses the page without an option if the action has the minimum page', async () => {
  const strict = await startService({ environment: { UPSTREAM_URL: upstream.url, CONFIRMATION_MINIMUM: 'page' } });
  const { status, stderr } = await runFor('eve+declines', '--yes', strict);
  await strict.close();
  expect([status, stderr]).toEqual([
    1,
    expect.stringContaining('The confirmation ended as declined. Nothing was sent.'),
  ]);
  expect(stderr).toContain(`confirm there: ${strict.url}/confirm/`);
});
