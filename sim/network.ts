/** The network between people and processes. A request takes time, and its answer may get lost. */
import type { Random } from '../chaos/random.ts';
import type { Called, Crowd } from './asking.ts';
import type { Ledger } from './ledger.ts';
import type { Place } from './places.ts';
import type { Scheduler } from './scheduler.ts';
import type { Service } from './service-parts.ts';

type Network = {
  scheduler: Scheduler;
  ledger: Ledger;
  random: Random;
  places: readonly Place[];
  /** Receives errors that a process throws. The process then answers as unavailable. */
  onError(error: unknown): void;
};

/**
 * Opens the network. Each direction takes up to 20 ms. A process that is down or dies during the request gives no
 * answer.
 */
export function openNetwork({ scheduler, ledger, random, places, onError }: Network): Crowd['call'] {
  const travel = () => random.between(0, 20);
  return <T>(what: string, ask: (service: Service) => Promise<T>, patienceMs: number) =>
    new Promise<Called<T>>((resolve) => {
      const place = random.pick(places);
      scheduler.after(patienceMs, () => resolve(undefined));
      scheduler.after(travel(), () => {
        const { service } = place;
        ledger.note(() => `${place.name} ${service ? 'is asked' : 'is not there'}: ${what}`);
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
