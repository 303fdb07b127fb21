import { afterAll, afterEach, beforeAll } from 'vitest';
import { type TestClock, testClock } from './clock.ts';
import { type Counts, expectEffects } from './outcomes.ts';
import { type Service, startService } from './service.ts';
import { answering, type ProgrammableUpstream, startUpstream } from './upstream.ts';

export type Scenario = {
  clock: TestClock;
  service: Service;
  upstream: ProgrammableUpstream;
  /** Holds what else happened to these deliveries, rows and messages; unnamed is 0. */
  expecting<T>(effects: Partial<Counts>, run: () => Promise<T>): Promise<T>;
};

/** The service before a programmable upstream that says 200 at the start of each test of the file. */
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
