/** Returns the existing name that is nearest to the typed name, or undefined if no name is near. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const ranked = names
    .map((name) => ({ name, distance: distanceBetween(typed, name) }))
    .sort((one, other) => one.distance - other.distance);
  const [best] = ranked;
  const furthest = Math.max(2, Math.floor(typed.replace(/^-+/, '').length / 2));
  return best !== undefined && best.distance <= furthest ? best.name : undefined;
}

/** Returns the Levenshtein distance: the number of letters to add, remove or change. */
function distanceBetween(one: string, other: string): number {
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const changed = one[row - 1] === other[column - 1] ? 0 : 1;
      const at = (cells: number[], index: number) => cells[index] ?? Number.POSITIVE_INFINITY;
      current.push(Math.min(at(previous, column) + 1, at(current, column - 1) + 1, at(previous, column - 1) + changed));
    }
    previous = current;
  }
  return previous[other.length] ?? Number.POSITIVE_INFINITY;
}
