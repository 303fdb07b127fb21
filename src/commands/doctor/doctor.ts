/** `npm run doctor`: tries what is configured, and reports each outcome (reference §13.3). */
import { systemClock } from '../../platform/clock.ts';
import { StorageUnavailable } from '../../storage/database.ts';
import { parseAddress } from '../arguments.ts';
import { ExitFault } from '../command-errors.ts';
import { type Call, runnerOf } from '../command-line.ts';
import { loadSettings } from '../open-store.ts';
import type { Terminal } from '../terminal.ts';
import { type Check, type CheckContext, type Finding, failed, failureOf, off, warned } from './check.ts';
import { credentials, receiptKeys, signingKeys } from './key-checks.ts';
import { database, dataFolder, wallClock } from './local-checks.ts';
import { mailServer, testMessage } from './mail-checks.ts';
import { rateLimits } from './redis-check.ts';
import { notices, oauth, operator, operatorConsole, site } from './site-checks.ts';
import { upstream } from './upstream-check.ts';
import { settingsWarnings } from './warnings.ts';

export const run = runnerOf({
  invocation: 'npm run doctor --',
  description: 'Tests the configuration with real requests. The exit status is 1 if a check fails.',
  examples: ['npm run doctor', 'npm run doctor -- --no-send', 'npm run doctor -- --mail-to you@example.com'],
  subcommands: {
    '': {
      description:
        'Check folder, database, keys, credentials, site, operator, console, OAuth, rate limits, upstream, clock and mail',
      options: {
        '--no-send': 'no test event and no test message',
        '--mail-to ADDRESS': 'recipient of the test message (default: MAIL_FROM)',
      },
      run: examine,
    },
  },
});

/**
 * The checks in their order. The checks of this machine come first, in the order in which a start needs the checked
 * parts. The clock is compared with the time in the upstream's answer.
 */
const checks: readonly Check[] = [
  dataFolder,
  database,
  signingKeys,
  receiptKeys,
  credentials,
  site,
  operator,
  operatorConsole,
  oauth,
  rateLimits,
  upstream,
  wallClock,
  mailServer,
  notices,
  testMessage,
];

async function examine({ terminal, text, flag }: Call): Promise<void> {
  const given = text('mail-to');
  const mailTo = given === undefined ? undefined : parseAddress(given, '--mail-to must be an e-mail address.');
  const { settings } = loadSettings();
  const send = !flag('no-send');
  const findings: Finding[] = [];
  const context: CheckContext = { settings, clock: systemClock, send, mailTo, findings };
  for (const check of checks) {
    if (send || check !== testMessage) findings.push(await runCheck(check, context));
  }
  const failures = findings.filter(({ outcome }) => outcome === 'failed').length;
  if (terminal.json) terminal.print(JSON.stringify({ ok: failures === 0, findings }));
  else for (const finding of findings) report(finding, terminal);
  if (failures > 0) throw new ExitFault(`${failures} of ${findings.length} checks failed.`);
}

/**
 * Runs a check and returns its finding, with the warnings about its settings. Never throws. The message of an `ExitFault`
 * has its own remedy. If the check of the database failed, a later check that can't use the store is off. Other errors
 * get the usual remedy.
 */
export async function runCheck({ check, remedy, run }: Check, context: CheckContext): Promise<Finding> {
  const usual = typeof remedy === 'function' ? remedy(context.settings) : remedy;
  try {
    const result = warned(await run(context), settingsWarnings(check, context));
    return { check, ...result, remedy: result.remedy ?? (result.outcome === 'failed' ? usual : undefined) };
  } catch (error) {
    if (error instanceof ExitFault) return { check, ...failed(error.message) };
    if (error instanceof StorageUnavailable && failureOf([database.check], context.findings)) {
      return { check, ...off('Not tested, because the check of database failed.') };
    }
    // Only the error's code is shown, because messages of libraries can contain addresses and passwords.
    const code = (error as NodeJS.ErrnoException).code ?? (error as Error).name;
    return { check, ...failed(`This check failed (${code}).`, usual) };
  }
}

function report({ check, outcome, says, remedy }: Finding, terminal: Terminal): void {
  const mark = outcome.padEnd(9);
  const emphasis = outcome === 'ok' ? 'good' : outcome === 'failed' ? 'bad' : undefined;
  terminal.print(emphasis === undefined ? mark : { emphasis, text: mark }, `${check.padEnd(14)}${says}`);
  if (remedy !== undefined) terminal.print(`${' '.repeat(23)}${remedy}`);
}
