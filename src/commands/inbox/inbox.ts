/** `npm run inbox`: lists, shows, exports, resends and dismisses submissions (reference §13.4). */
import { dismissalReasons } from '../../submissions/operator-changes.ts';
import { formatOption } from '../arguments.ts';
import { runnerOf } from '../command-line.ts';
import { dismissAll, resend } from './changes.ts';
import { exportAll, filterOptions, LIST_ROWS, list, show } from './reading.ts';

export const run = runnerOf({
  invocation: 'npm run inbox --',
  description:
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
  subcommands: {
    list: {
      description: 'the latest, newest first',
      options: { '--limit N': `how many (${LIST_ROWS})`, ...filterOptions },
      run: list,
    },
    show: { description: 'one in full; the beginning of its id is enough', operands: ['id'], run: show },
    export: {
      description: 'all of them, oldest first, on standard output',
      options: {
        ...formatOption,
        '--email ADDRESS': 'everything about one person, as jsonl; - reads the address from standard input',
        '--limit N': 'only the first so many',
        ...filterOptions,
      },
      run: exportAll,
    },
    resend: {
      description: 'has the running service send a browser’s submission again, and waits for the outcome',
      others: 'id',
      options: { '--undelivered': 'all of browsers that are undelivered' },
      run: resend,
    },
    dismiss: {
      description: 'puts away what waits or is undelivered: nothing more happens to it',
      others: 'id',
      options: { '--reason REASON': `${dismissalReasons.join(', ')} (other)` },
      run: dismissAll,
    },
  },
});
