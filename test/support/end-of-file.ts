/** Runs beside every test file, also where several share a worker and load a module but once. */
import { afterAll } from 'vitest';
import { endAll } from './leftovers.ts';

afterAll(endAll);
