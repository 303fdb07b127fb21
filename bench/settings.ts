/** Settings that all compared servers share, so that every server does the same work for the same client. */

export const TOKEN = 'bench-token';
export const CLIENT = 'bench-agent';
export const OPERATOR = 'Paint Match';
export const SIGNING_KEY = Buffer.alloc(32, 'key');
export const UPSTREAM_SECRET = Buffer.alloc(32, 9);

/** Fields of the lead and of the preview. */
export const FIELDS = {
  name: 'Ada Lovelace',
  email: 'ada@example.com',
  phone: '+44 20 7946 0000',
  subject: 'A question about the terrace',
  message:
    'The paint on the south side has come off in flakes since the winter.\nCould somebody look at it before May, and say what a new coat would cost? Afternoons suit us best.',
};
