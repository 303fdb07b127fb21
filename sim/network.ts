/** What lies between people and the processes: time, and answers that never come. */
import type { Random } from '../chaos/random.ts';
import type { Place } from './faults.ts';
import type { Called, Crowd } from './people.ts';
import type { Scheduler } from './scheduler.ts';
import type { Service } from './service.ts';

type Network = {
  scheduler: Scheduler;
  random: Random;
  places: readonly Place[];
  /** What a process throws, which then answers as unavailable. */
  onError(error: unknown): void;
};

/** Way there and way back take up to 20 ms each; a process that is not there, or dies meanwhile, says nothing. */
export function openNetwork({ scheduler, random, places, onError }: Network): Crowd['call'] {
  const travel = () => random.between(0, 20);
  return <T>(ask: (service: Service) => Promise<T>, patienceMs: number) =>
    new Promise<Called<T>>((resolve) => {
      const place = random.pick(places);
      scheduler.after(patienceMs, () => resolve(undefined));
      scheduler.after(travel(), () => {
        const { service } = place;
        if (service === undefined) return resolve(undefined);
        const { process } = service;
        process.whenKilled(() => resolve(undefined));
        const answer = (called: Called<T>) =>
          process.after(0, () => void scheduler.after(travel(), () => resolve(called)));
        process.after(0, () => {
          const served = service.serve(ask);
          if (served === undefined) return resolve(undefined);
          served.then(answer, (error) => {
            if (!process.isAlive()) return;
            onError(error);
            answer({ kind: 'unavailable' });
          });
        });
      });
    });
}
