/** `npm run inbox`: lists, shows, exports, resends and dismisses submissions (reference §13.4). */
import { dismissalReasons } from '../../submissions/operator-changes.ts';
import { formatOption } from '../arguments.ts';
import { runnerOf } from '../command-line.ts';
import { dismissAll, resend } from './changes.ts';
import { exportAll, filterOptions, LIST_ROWS, list, show } from './reading.ts';

export const run = runnerOf({
  invocation: 'npm run inbox --',
  description: 'Lists, exports, resends and dismisses the stored submissions, forwarded ones included.',
  examples: [
    'npm run inbox -- list',
    'npm run inbox -- list --progress new --agent acme-assistant',
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
      description: 'List the latest submissions, newest first',
      options: { '--limit N': `maximum number (default: ${LIST_ROWS})`, ...filterOptions },
      run: list,
    },
    show: {
      description: 'Show one submission in full. The beginning of its id is enough.',
      operands: ['id'],
      run: show,
    },
    export: {
      description: 'Export all submissions to standard output, oldest first',
      options: {
        ...formatOption,
        '--email ADDRESS': 'everything about one person, as jsonl. - reads the address from standard input',
        '--limit N': 'maximum number (default: all)',
        ...filterOptions,
      },
      run: exportAll,
    },
    resend: {
      description: 'Have the running service send submissions from browsers again, and wait for the outcome',
      others: 'id',
      options: { '--undelivered': 'all undelivered submissions from browsers' },
      run: resend,
    },
    dismiss: {
      description: 'Stop the delivery of waiting and undelivered submissions',
      others: 'id',
      options: { '--reason REASON': `${dismissalReasons.join(', ')} (default: other)` },
      run: dismissAll,
    },
  },
});
