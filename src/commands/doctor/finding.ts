/** What the doctor finds: one sentence a check, and what to do where it isn't well. */

export type Finding = {
  check: string;
  /** `off`: not configured, or not tried. Only `failed` makes the doctor fail. */
  outcome: 'ok' | 'warning' | 'off' | 'failed';
  says: string;
  remedy?: string;
};

export type Danger = { says: string; remedy: string };

/** Takes what a check found, and the dangers beside it: they make a warning of it, unless it failed. */
export function warned(found: Omit<Finding, 'check'>, dangers: Danger[]): Omit<Finding, 'check'> {
  if (found.outcome === 'failed' || dangers.length === 0) return found;
  const remedies = [found.remedy, ...dangers.map(({ remedy }) => remedy)];
  return {
    outcome: 'warning',
    says: [found.says, ...dangers.map(({ says }) => says)].join(' '),
    remedy: remedies.filter((remedy) => remedy !== undefined).join(' '),
  };
}

/** Runs a check; whatever it throws is a failure with the check's usual remedy. */
export async function tryOut(
  check: string,
  remedy: string,
  run: () => Promise<Omit<Finding, 'check'>>,
): Promise<Finding> {
  try {
    return { check, ...(await run()) };
  } catch (error) {
    // A code alone: messages of libraries can hold addresses and passwords.
    const code = (error as NodeJS.ErrnoException).code ?? (error as Error).name;
    return { check, outcome: 'failed', says: `It can’t be used (${code}).`, remedy };
  }
}
