/** Errors that end a command, with a sentence and an exit status. */
import { EXIT_CONFIGURATION } from '../start/start-errors.ts';

const EXIT_USAGE = 2;

/** An expected failure. A person reads its message. */
export class ExitFault extends Error {
  override name = 'ExitFault';
  readonly status: number = 1;
}

/** The command line itself is wrong. */
export class UsageFault extends ExitFault {
  override readonly status = EXIT_USAGE;
}

/** Settings are invalid. `faults` has one line for each invalid setting (reference §13.1). */
export class SettingsFault extends ExitFault {
  override readonly status = EXIT_CONFIGURATION;
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super('The settings are wrong.');
    this.faults = faults;
  }
}

/** Returns the lines that describe a failure. The lines include a stack trace only with `LOG_LEVEL=debug`. */
export function describeFailure(error: unknown): readonly string[] {
  if (error instanceof SettingsFault) return error.faults;
  if (!(error instanceof Error)) return ['Something unexpected happened.'];
  const isForeseen = error instanceof ExitFault || process.env.LOG_LEVEL !== 'debug';
  return isForeseen ? [error.message] : (error.stack ?? error.message).split('\n');
}
