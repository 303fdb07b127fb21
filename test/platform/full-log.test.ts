import { describe, expect, test } from 'vitest';
import { call, executeAction, previewId } from '../support/agent.ts';
import { startProcess } from '../support/process.ts';
import { startUpstream } from '../support/upstream.ts';

describe('service whose standard output can’t be written', () => {
  test.each([
    // Every write to this device fails with ENOSPC.
    { output: 'is on a full disk', shell: 'exec "$@" >/dev/full' },
    {
      output: 'is a pipe without a reader',
      shell: 'cd "$DATA_DIR"; mkfifo log; head -c 1 log >/dev/null & exec "$@" >log',
    },
    {
      output: 'is a full pipe whose reader has stopped',
      shell: `cd "$DATA_DIR"; mkfifo log; (while kill -0 $$ 2>/dev/null; do sleep 0.1; done) <log &
        head -c 65536 /dev/zero >log; exec "$@" >log`,
    },
  ])('starts, answers and drains if the output $output', async ({ shell }) => {
    const upstream = await startUpstream();
    const held = Promise.withResolvers<() => void>();
    upstream.answer = (response) => held.resolve(() => response.writeHead(200).end());
    const service = await startProcess({ shell, environment: { UPSTREAM_URL: upstream.url } });
    for (let each = 0; each < 50; each += 1) {
      expect((await call(service, '/healthz', { method: 'GET' })).status).toBe(200);
    }
    const execution = executeAction(service, await previewId(service));
    const release = await held.promise;
    service.kill('SIGTERM');
    release();
    expect((await execution).status).toBe(200);
    expect(await service.exited).toEqual({ status: 0, signal: null });
    await upstream.close();
  });
});
