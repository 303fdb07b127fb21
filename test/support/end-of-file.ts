/** Setup file that runs for every test file, even if several share a worker and its loaded modules. */
import { afterAll } from 'vitest';
import { endAll } from './leftovers.ts';

afterAll(endAll);
