/**
 * `node bench/trace.ts` prints the files of `src` whose functions run for one lead and for one execution. V8 counts the
 * calls of each function. A request of the same kind runs before, so that nothing is loaded or compiled during the
 * count.
 */
import { randomUUID } from 'node:crypto';
import { relative } from 'node:path';
import { CONFIRMATION_STATEMENT } from '../src/actions/preview.ts';
import { freePort } from '../test/support/free-port.ts';
import { startServer } from './processes.ts';
import { environmentOf, makeDataFolder, SERVICE } from './service.ts';
import { FIELDS, TOKEN } from './settings.ts';
import { startUpstream } from './upstream.ts';

type Coverage = {
  result: { url: string; functions: { functionName: string; ranges: { count: number }[] }[] }[];
};

const PROJECT = new URL('..', import.meta.url).pathname;

const upstream = await startUpstream();
const folder = makeDataFolder();
const inspectorPort = await freePort();
const environment = environmentOf(folder.path, upstream.url, 'info');
const service = await startServer([`--inspect=127.0.0.1:${inspectorPort}`, ...SERVICE], environment, '/healthz');

const inspector = await connectInspector();
await inspector.call('Profiler.enable');
await inspector.call('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

await trace('lead', async () => () => post('/api/leads', { form: 'contact', ...FIELDS }));
await trace('execution', async () => {
  const preview = await post('/api/agent/actions/contact/preview', FIELDS, { authorization: `Bearer ${TOKEN}` });
  const { preview_id } = (await preview.json()) as { preview_id: string };
  const consent = { preview_id, confirmation: true, confirmation_text: CONFIRMATION_STATEMENT };
  return () =>
    post('/api/agent/actions/contact/execute', consent, {
      authorization: `Bearer ${TOKEN}`,
      'idempotency-key': randomUUID(),
    });
});

inspector.close();
await service.end('SIGTERM');
upstream.close();
folder.remove();

/** Prints the files that the second request runs through, with their functions. */
async function trace(name: string, prepare: () => Promise<() => Promise<Response>>): Promise<void> {
  await (await prepare())();
  const request = await prepare();
  await inspector.call('Profiler.takePreciseCoverage');
  const { status } = await request();
  const { result } = (await inspector.call('Profiler.takePreciseCoverage')) as Coverage;
  const lines = result.flatMap(({ url, functions }) => {
    const file = relative(PROJECT, url.replace('file://', ''));
    const called = functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0);
    if (!file.startsWith('src/') || called.length === 0) return [];
    return [`  ${file}: ${called.map(({ functionName }) => functionName || '(anonymous)').join(', ')}`];
  });
  console.log(`${name}: status ${status}, ${lines.length} files\n${lines.sort().join('\n')}`);
}

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${service.port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

/** Connects to the inspector of the service. Returns a client that calls its methods. */
async function connectInspector() {
  const [target] = (await (await fetch(`http://127.0.0.1:${inspectorPort}/json/list`)).json()) as [
    { webSocketDebuggerUrl: string },
  ];
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }));
  let lastId = 0;
  return {
    call(method: string, params = {}): Promise<unknown> {
      lastId += 1;
      const id = lastId;
      return new Promise((resolve) => {
        socket.addEventListener('message', function receive({ data }) {
          const answer = JSON.parse(String(data)) as { id?: number; result: unknown };
          if (answer.id !== id) return;
          socket.removeEventListener('message', receive);
          resolve(answer.result);
        });
        socket.send(JSON.stringify({ id, method, params }));
      });
    },
    close: () => socket.close(),
  };
}
