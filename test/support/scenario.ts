import { afterAll, afterEach, beforeAll } from 'vitest';
import { type TestClock, testClock } from './clock.ts';
import { type Counts, expectEffects } from './outcomes.ts';
import { type Service, startService } from './service.ts';
import { answering, type ProgrammableUpstream, startUpstream } from './upstream.ts';

export type Scenario = {
  clock: TestClock;
  service: Service;
  upstream: ProgrammableUpstream;
  /** Runs a function and expects exactly these effects (see `expectEffects`). */
  expecting<T>(effects: Partial<Counts>, run: () => Promise<T>): Promise<T>;
};

/** Starts the service with a programmable upstream. Each test of the file starts with an upstream that answers 200. */
export function scenario(environment: Record<string, string> = {}): Scenario {
  const clock = testClock();
  const started = {} as Scenario;
  beforeAll(async () => {
    started.upstream = await startUpstream();
    started.service = await startService({
      clock,
      environment: { UPSTREAM_URL: started.upstream.url, ...environment },
    });
  });
  afterEach(() => {
    started.upstream.answer = answering(200);
  });
  afterAll(async () => {
    await started.service.close();
    await started.upstream.close();
  });
  started.clock = clock;
  started.expecting = (effects, run) => expectEffects(started.service, started.upstream, effects, run);
  return started;
}
