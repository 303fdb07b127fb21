/** Numbered ids, which make a trace readable. */

/** Returns a function that returns the next id as a UUID. */
export function countedIds(): () => string {
  let made = 0;
  return () => {
    made += 1;
    return `00000000-0000-4000-8000-${String(made).padStart(12, '0')}`;
  };
}
