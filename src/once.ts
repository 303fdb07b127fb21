import { createRequire } from 'node:module';

/** Loads a package at once, in the middle of a function: for what a start leaves until it is needed. */
export const require = createRequire(import.meta.url);

/**
 * Makes a value when it is first asked for, and keeps it. A failure is not kept, whether it is thrown or
 * the promise's: the next who asks tries again.
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

/** The same function with its last result kept: asked for the same again, it does not run. */
export function keepingLast<K, V>(make: (of: K) => V): (of: K) => V {
  let last: { of: K; value: V } | undefined;
  return (of) => {
    if (last === undefined || last.of !== of) last = { of, value: make(of) };
    return last.value;
  };
}
