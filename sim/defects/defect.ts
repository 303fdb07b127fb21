/**
 * A defect breaks a promise: an edit of the source, as what is found once in a file and what a careless hand
 * would have written there. Planted by `plant.ts`, never in the tree.
 */
export type Defect = { name: string; edits: readonly Edit[] };

type Edit = { file: string; find: string; replace: string };
