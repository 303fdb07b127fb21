/** Defects of sign-in links and of the operators' work (reference §12.14, §12.16). */
import type { Defect } from './defect.ts';

const PROGRESS = 'src/submissions/progress.ts';

export const defectsOfOperators: readonly Defect[] = [
  {
    name: 'a sign-in link signs in again',
    edits: [{ file: 'src/console/sessions.ts', find: "          .where('used_at', 'is', null)\n", replace: '' }],
  },
  {
    name: 'a mail that is sent again has a new link after the first was used',
    edits: [
      {
        file: 'src/console/sign-in-mail.ts',
        find: '      if (found.some(({ used_at }) => used_at !== null)) return false;\n',
        replace: '      if (found.length > 1) return false;\n',
      },
    ],
  },
  {
    name: 'the undo of spam opens the delivery again',
    edits: [
      {
        file: PROGRESS,
        find: "      .set({ progress })\n      .where('id', '=', id)",
        replace:
          "      .set({ progress, ...(to === 'spam' && { status: 'undelivered' as const }) })\n      .where('id', '=', id)",
      },
    ],
  },
  {
    name: 'an undo overwrites a later change',
    edits: [{ file: PROGRESS, find: "      .where('progress', '=', to)\n", replace: '' }],
  },
  {
    name: 'every change of progress ends the delivery',
    edits: [{ file: PROGRESS, find: "progress === 'spam' ?", replace: "progress !== 'new' ?" }],
  },
];
