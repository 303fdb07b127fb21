/**
 * Takes what makes a value; returns what makes it when it is first asked for, and keeps it. A failure is
 * not kept, whether it is thrown or the promise's: the next who asks tries again.
 */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    if (made === undefined) {
      made = { value: make() };
      if (made.value instanceof Promise) {
        made.value.catch(() => {
          made = undefined;
        });
      }
    }
    return made.value;
  };
}
