import type { Storage } from '../storage/database.ts';
import { prepareRead } from '../storage/prepare-query.ts';
import type { SubmissionRow } from '../storage/schema.ts';

/** What finds the row of a submission by its id; undefined where it was erased, or there never was one. */
export function openFind(storage: Storage): (id: string) => Promise<SubmissionRow | undefined> {
  const find = prepareRead(storage, (db, of: { id: string }) =>
    db.selectFrom('submissions').selectAll().where('id', '=', of.id),
  );
  return async (id) => (await storage.read(find({ id })))[0];
}
