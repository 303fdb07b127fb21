/** With `PROPERTY_SEED` the properties draw the same each time: what failed in CI fails here. */
import fc from 'fast-check';

const seed = Number(process.env.PROPERTY_SEED);
if (Number.isSafeInteger(seed) && seed > 0) fc.configureGlobal({ seed });
