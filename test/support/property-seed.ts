/** With `PROPERTY_SEED`, property tests use the same random values each time, so a failure of CI can be repeated. */
import fc from 'fast-check';

const seed = Number(process.env.PROPERTY_SEED);
if (Number.isSafeInteger(seed) && seed > 0) fc.configureGlobal({ seed });
