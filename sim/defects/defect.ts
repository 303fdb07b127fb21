/**
 * A defect breaks an invariant by edits of the source. `find` occurs exactly once in its file, and `replace` is a
 * plausible mistake. `plant.ts` plants a defect at load time, so that it is never in the tree.
 */
export type Defect = { name: string; edits: readonly Edit[] };

type Edit = { file: string; find: string; replace: string };
