/**
 * Time as a part, so that tests and the simulator can own it.
 * `now` is the wall clock (what people read); `monotonic` is whole milliseconds since the
 * machine booted, shared by every process on it and unmoved by steps of the wall clock.
 */
export type Clock = {
  now(): Date;
  monotonic(): number;
};

/** The machine's own clocks. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonic: () => Number(process.hrtime.bigint() / 1_000_000n),
};
