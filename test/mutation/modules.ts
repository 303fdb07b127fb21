/** The modules that keep the promises; `MUTATE_MODULE=mail npm run mutate` takes one of them, with its tests alone. */
export const modules = process.env.MUTATE_MODULE?.split(',') ?? [
  'actions',
  'forms',
  'intake',
  'upstream',
  'mail',
  'storage',
  'limits',
  'credentials',
];

// Its tests tell local time from GMT, and run in a thread that can't change its zone.
process.env.TZ = 'America/New_York';
