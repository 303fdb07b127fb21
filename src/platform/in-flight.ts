/** A collection to which every request is added and from which it is removed. */
export type InFlight<T> = {
  /** Adds an item. Returns the function that removes the item, which the caller calls once. */
  add(one: T): () => void;
  all(): T[];
};

/**
 * Returns an empty collection without an order. The collection is an array, because V8 rebuilds a `Set` every few dozen
 * requests. The old tables of a `Set` kept every request in memory, which took a tenth of the time under load.
 */
export function openInFlight<T>(): InFlight<T> {
  const places: { one: T; at: number }[] = [];
  return {
    add(one) {
      const place = { one, at: places.length };
      places.push(place);
      return () => {
        // The last item moves to the place of the removed item.
        const last = places.pop();
        if (last === undefined || last === place) return;
        places[place.at] = last;
        last.at = place.at;
      };
    },
    all: () => places.map(({ one }) => one),
  };
}
