/**
 * Returns a function that calls `make` at its first call, and returns that value at every later call. If `make` threw,
 * the next call tries it again.
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

/**
 * Returns a function that remembers the last argument of `make` and its result. This function calls `make` only for
 * another argument.
 */
export function memoizeLast<K, V>(make: (of: K) => V): (of: K) => V {
  let last: { of: K; value: V } | undefined;
  return (of) => {
    if (last === undefined || last.of !== of) last = { of, value: make(of) };
    return last.value;
  };
}
