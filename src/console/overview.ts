/** The first page (beyond §7): whether anything needs the operator, and what came in. */
import { render } from './templates.ts';
import type { Answer, ConsoleParts, Visit } from './visit.ts';

/** Shows no personal data. */
export async function overviewPage(_parts: ConsoleParts, _visit: Visit): Promise<Answer> {
  return { kind: 'page', title: 'Overview', main: render('overview', {}) };
}
