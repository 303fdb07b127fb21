/** `npm run inbox`: what was submitted and what became of it; to see, to send again, to put away (beyond §1). */
import { dismissalReasons } from '../../submissions/operator-changes.ts';
import { runnerOf } from '../command-line.ts';
import { dismissAll, resend } from './changes.ts';
import { filterOptions } from './filters.ts';
import { exportAll, LIST_ROWS, list, show } from './reading.ts';

export const run = runnerOf({
  invocation: 'npm run inbox --',
  meaning:
    'Every submission that is kept: what the embedded destination (UPSTREAM_URL=inbox:) holds, and what was forwarded.',
  examples: [
    'npm run inbox -- list',
    'npm run inbox -- list --status undelivered --origin browser',
    'npm run inbox -- list --search "+1 555 0100"',
    'npm run inbox -- show 0b4f3a52',
    'npm run --silent inbox -- export --format csv --since 2026-12-01 > leads.csv',
    'npm run --silent inbox -- export --email - < address.txt',
    'npm run inbox -- resend --undelivered',
    'npm run inbox -- dismiss 0b4f3a52-4d0f-7d3a-9a53-6e2b8f7f3c11 --reason spam',
  ],
  actions: {
    list: {
      meaning: 'the latest, newest first',
      options: {
        limit: { type: 'string', value: 'N', meaning: `how many (${LIST_ROWS})` },
        ...filterOptions,
      },
      run: list,
    },
    show: {
      meaning: 'one in full; the beginning of its id is enough',
      operands: ['id'],
      run: show,
    },
    export: {
      meaning: 'all of them, oldest first, on standard output',
      options: {
        format: {
          type: 'string',
          value: 'FORMAT',
          meaning: 'csv (safe in a spreadsheet) or jsonl',
        },
        email: {
          type: 'string',
          value: 'ADDRESS',
          meaning:
            'everything of one person; - reads the address from standard input (what else there is: `npm run erase -- - --dry-run`)',
        },
        limit: { type: 'string', value: 'N', meaning: 'only the first so many' },
        ...filterOptions,
      },
      run: exportAll,
    },
    resend: {
      meaning:
        'has the running service send a browser’s submission again, and waits for the outcome',
      others: 'id',
      options: {
        undelivered: { type: 'boolean', meaning: 'all of browsers that are undelivered' },
      },
      run: resend,
    },
    dismiss: {
      meaning: 'puts away what waits or is undelivered: nothing more happens to it',
      others: 'id',
      options: {
        reason: {
          type: 'string',
          value: 'REASON',
          meaning: `${dismissalReasons.join(', ')} (other)`,
        },
      },
      run: dismissAll,
    },
  },
});
