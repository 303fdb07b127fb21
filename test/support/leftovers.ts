/** What a test file starts and makes is ended and gone before the next one, which may have the same worker. */
const ends: (() => unknown)[] = [];

/** Calls this at the end of the test file that is running. */
export function atEndOfFile(end: () => unknown): void {
  ends.push(end);
}

/** Of `end-of-file.ts` alone. */
export async function endAll(): Promise<void> {
  // Folders go last: who was started first may have its files in them.
  for (const end of ends.splice(0).reverse()) await end();
}
