/** `npm run doctor`: tries what is configured for real, and says each outcome (contract §1). */
import { systemClock } from '../../clock.ts';
import { normalize, parseEmail } from '../../forms/fields.ts';
import type { Call, Command } from '../command.ts';
import { runCommand } from '../command-line.ts';
import { loadSettings } from '../configuration.ts';
import { ExitFault, UsageFault } from '../faults.ts';
import type { Terminal } from '../terminal.ts';
import { checkClock } from './clock-check.ts';
import { checkMail, checkMessage, checkUpstream } from './delivery-checks.ts';
import type { Finding } from './finding.ts';
import { checkThisMachine } from './local-checks.ts';
import { checkLimits, checkNotices, checkOperator, checkSite } from './optional-checks.ts';

const command: Command = {
  invocation: 'npm run doctor --',
  meaning: 'Tries what is configured for real; exit status 1 where something fails.',
  examples: [
    'npm run doctor',
    'npm run doctor -- --no-send',
    'npm run doctor -- --mail-to you@example.com',
  ],
  actions: {
    '': {
      meaning:
        'folder, database, keys, credentials, site, operator, rate limits, upstream, clock and mail',
      operands: [],
      options: {
        'no-send': { type: 'boolean', meaning: 'deliver no test event and no test message' },
        'mail-to': {
          type: 'string',
          value: 'ADDRESS',
          meaning: 'who gets the test message, else MAIL_FROM',
        },
      },
      run: examine,
    },
  },
};

/** Takes the arguments after the command's name. */
export function run(argv: readonly string[]): Promise<number> {
  return runCommand(command, argv);
}

async function examine(call: Call): Promise<void> {
  const { terminal } = call;
  const chosen = addressOf(call.text('mail-to'));
  const { settings } = loadSettings();
  const send = !call.flag('no-send');
  let aheadMs: number | undefined;
  const heardTime = (time: number) => {
    if (!Number.isNaN(time)) aheadMs = systemClock.now().getTime() - time;
  };
  const findings = [
    ...(await checkThisMachine(settings, systemClock)),
    await checkSite(settings),
    checkOperator(settings),
    await checkLimits(settings, systemClock),
    await checkUpstream(settings, systemClock, send, heardTime),
    // Compared with what the upstream has just said.
    await checkClock(settings, systemClock, aheadMs),
    await checkMail(settings),
    checkNotices(settings),
    ...(send ? [await checkMessage(settings, systemClock, chosen)] : []),
  ];
  const failed = findings.filter(({ outcome }) => outcome === 'failed').length;
  if (terminal.json) terminal.print(JSON.stringify({ ok: failed === 0, findings }));
  else for (const finding of findings) report(finding, terminal);
  if (failed > 0) throw new ExitFault(`${failed} of ${findings.length} checks failed.`);
}

function report({ check, outcome, says, remedy }: Finding, terminal: Terminal): void {
  const mark = outcome.padEnd(9);
  const coloured =
    outcome === 'ok'
      ? terminal.emphasize('good', mark)
      : outcome === 'failed'
        ? terminal.emphasize('bad', mark)
        : mark;
  terminal.print(`${coloured}${check.padEnd(14)}${says}`);
  if (remedy !== undefined) terminal.print(`${' '.repeat(23)}${remedy}`);
}

function addressOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const address = parseEmail(normalize(text));
  if (address === undefined) throw new UsageFault('--mail-to must be an e-mail address.');
  return address;
}
