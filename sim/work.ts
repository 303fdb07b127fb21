/** The task of a worker: every `workers`th seed, from `index` on. */
export type Work = {
  base: string;
  index: number;
  workers: number;
  seeds: number;
  minutes: number;
  /** Number of failures after which the worker stops. */
  failures: number;
};
