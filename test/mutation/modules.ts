/** Modules to mutate, with their tests. `MUTATE_MODULE=mail npm run mutate` selects one. */
export const modules = process.env.MUTATE_MODULE?.split(',') ?? [
  'actions',
  'forms',
  'intake',
  'upstream',
  'mail',
  'storage',
  'limits',
  'credentials',
  'submissions',
  'confirmations',
  'sandbox',
  'oauth',
  'receipts',
  'newsletter',
  'notices',
  'console',
];

// Tests distinguish local time from GMT. They run in a worker thread, which can't change the time zone.
process.env.TZ = 'America/New_York';
