import { describe, expect, test } from 'vitest';
import { executeAction, previewId } from '../support/agent.ts';
import { type ServiceProcess, startProcess } from '../support/process.ts';
import { until } from '../support/until.ts';
import { startUpstream } from '../support/upstream.ts';

const preload = [import.meta.resolve('../support/throw-on-sigwinch.ts')];

/** Returns the messages of errors that were logged as fatal. */
const fatal = (service: ServiceProcess) =>
  service
    .stdout()
    .split('\n')
    .filter((line) => line.includes('"level":"fatal"'))
    .map((line) => JSON.parse(line).err.message);

describe('the process', () => {
  test.each<[string, NodeJS.Signals[], number]>([
    ['an error', ['SIGWINCH'], 1],
    ['a second error during the drain', ['SIGWINCH', 'SIGWINCH'], 2],
    ['an error during the drain after SIGTERM', ['SIGTERM', 'SIGWINCH'], 1],
  ])(
    'logs every unexpected error, answers running requests and exits with 1 after %s',
    async (_name, signals, logged) => {
      const upstream = await startUpstream();
      const held = Promise.withResolvers<() => void>();
      upstream.answer = (response) => held.resolve(() => response.writeHead(200).end());
      const service = await startProcess({ preload, environment: { UPSTREAM_URL: upstream.url } });
      const execution = executeAction(service, await previewId(service));
      const release = await held.promise;
      for (const [index, signal] of signals.entries()) {
        service.kill(signal);
        const before = signals.slice(0, index + 1).filter((each) => each === 'SIGWINCH').length;
        await until(() => fatal(service).length === before);
      }
      release();
      expect((await execution).status).toBe(200);
      expect(await service.exited).toEqual({ status: 1, signal: null });
      expect(fatal(service)).toEqual(['planted 1', 'planted 2'].slice(0, logged));
      expect(service.stderr()).toBe('');
      await upstream.close();
    },
  );

  test('exits with 1 at the time limit if a drain never ends', async () => {
    const service = await startProcess({
      preload: [import.meta.resolve('../support/never-closing.ts')],
      environment: { UPSTREAM_TIMEOUT_MS: '100' },
    });
    const startedAt = performance.now();
    service.kill('SIGTERM');
    expect(await service.exited).toEqual({ status: 1, signal: null });
    expect(performance.now() - startedAt).toBeLessThan(8_000);
  });
});
