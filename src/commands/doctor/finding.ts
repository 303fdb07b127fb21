/** What the doctor finds: one sentence a check, and what to do where it isn't well. */

export type Finding = {
  check: string;
  /** `off`: not configured, or not tried. Only `failed` makes the doctor fail. */
  outcome: 'ok' | 'warning' | 'off' | 'failed';
  says: string;
  remedy?: string;
};

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
