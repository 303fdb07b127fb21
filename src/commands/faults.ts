/** How a command ends when it can't do what it was asked: one sentence, and an exit status. */

import { EXIT_CONFIGURATION } from '../start/exit-status.ts';

const EXIT_USAGE = 2;

/** A failure that was foreseen; its message is what a person reads. */
export class ExitFault extends Error {
  override name = 'ExitFault';
  readonly status: number = 1;
}

/** The command line itself is wrong. */
export class UsageFault extends ExitFault {
  override readonly status = EXIT_USAGE;
}

/** The settings are wrong: one line each (contract §2). */
export class SettingsFault extends ExitFault {
  override readonly status = EXIT_CONFIGURATION;
}

/** What is said of a failure; a stack trace is for `LOG_LEVEL=debug` alone. */
export function describeFailure(error: unknown): string {
  const sentence = error instanceof Error ? error.message : 'Something unexpected happened.';
  const isForeseen = error instanceof ExitFault || process.env.LOG_LEVEL !== 'debug';
  return isForeseen || !(error instanceof Error) ? sentence : (error.stack ?? sentence);
}
