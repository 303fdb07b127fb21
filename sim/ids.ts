/** Ids in the order in which they were made, so that a trace can be read. */

/** Returns what makes the next one, as a UUID. */
export function countedIds(): () => string {
  let made = 0;
  return () => {
    made += 1;
    return `00000000-0000-4000-8000-${String(made).padStart(12, '0')}`;
  };
}
