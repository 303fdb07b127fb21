/** What a worker is told: its share is every `workers`th seed from `index` on. */
export type Work = {
  base: string;
  index: number;
  workers: number;
  seeds: number;
  minutes: number;
  /** After so many it stops. */
  failures: number;
};
