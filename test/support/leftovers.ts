/** Ends everything that a test file started before the next file, which may share its worker. */
const ends: (() => unknown)[] = [];

/** Calls the function at the end of the current test file. */
export function atEndOfFile(end: () => unknown): void {
  ends.push(end);
}

/** Only `end-of-file.ts` calls this. */
export async function endAll(): Promise<void> {
  // The reverse order removes folders after the processes that use them.
  for (const end of ends.splice(0).reverse()) await end();
}
