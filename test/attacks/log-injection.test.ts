/**
 * A log line is one event of the service, whatever a caller sends and whatever fails (ASVS 16.2.5, 16.4.1). That no line
 * contains a field, header, path or token is tested in test/platform/logs.test.ts.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { forms } from '../../src/forms/catalog.ts';
import { executeAction, previewAction } from '../support/agent.ts';
import { encodings, formNames, post } from '../support/forms.ts';
import { type ServiceProcess, startProcess, temporaryFolder } from '../support/process.ts';

const canary = 'canary9b2c';

/** Another line, terminal commands, and syntax of other formats. */
const nasty = fc.constantFrom(
  `\n{"level":"fatal","msg":"${canary}"}`,
  `\r\n{"level":"error","msg":"${canary}"}\r\n`,
  `\u001b[2J\u001b]0;${canary}\u0007`,
  `","level":"fatal","msg":"${canary}`,
  `\u2028${canary}\u2029\u0085\u0000\u008d`,
  `\${jndi:ldap://${canary}}%s%d%n{{${canary}}}`,
);
const everyField = Object.values(forms).flatMap(({ fields }) => fields);
const anyFields = fc.record({
  ...Object.fromEntries(everyField.map(({ name }) => [name, nasty])),
  form: fc.constantFrom(...formNames),
  name: nasty,
  email: fc.oneof(nasty, fc.constant(`${canary}@example.com`)),
  [canary]: nasty,
});

/** Allowed keys of a line. Each value is ours or a name from a closed list. */
const KEYS = new Set([
  ...['level', 'time', 'msg', 'requestId', 'method', 'route', 'status', 'ms', 'traceId', 'err'],
  ...['actionId', 'submissionId', 'messageId', 'action', 'client', 'form', 'outcome', 'by'],
  ...['attempt'],
  ...['reason', 'count', 'clients', 'site', 'mode', 'kind'],
]);

let service: ServiceProcess;
beforeAll(async () => {
  // Crashes the process as a bug would, with a database's detail of a row in the error.
  const preload = join(temporaryFolder(), 'break.mjs');
  writeFileSync(
    preload,
    `process.on('SIGWINCH', () => setImmediate(() => {
      const detail = 'Failing row contains (${canary}).';
      throw Object.assign(new Error('planted'), { detail, where: detail, code: '23505' });
    }));`,
  );
  service = await startProcess({ preload: [preload], environment: { LOG_LEVEL: 'trace' } });
});

const lines = () => service.stdout().trimEnd().split('\n');

describe('log injection', () => {
  test('logs one event with known keys for each request of a fuzz run', async () => {
    const ids = new Set<string>();
    await fc.assert(
      fc.asyncProperty(anyFields, fc.constantFrom(...encodings), async (fields, encoding) => {
        const printable = JSON.stringify(fields.name).replace(/[^ -~]/g, '');
        const headers = {
          'user-agent': printable,
          traceparent: printable,
          'x-request-id': printable,
        };
        const answers = await Promise.all([
          post(service, '/api/leads', encoding, fields, headers),
          post(service, '/api/subscribe', encoding, { ...fields, privacy: 'on' }, headers),
          previewAction(service, fields.form, fields, { headers }),
          executeAction(service, fields.name, { headers, action: fields.form }),
        ]);
        for (const { headers: said } of answers) ids.add(said.get('x-request-id') ?? '');
      }),
      { numRuns: 100 },
    );
    expect(ids.size).toBeGreaterThan(300);
    await expect.poll(() => [...ids].filter((id) => !service.stdout().includes(id))).toEqual([]);
    const requests = new Set<string>();
    for (const line of lines().slice(1)) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
      expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
      const event = JSON.parse(line);
      for (const key of Object.keys(event)) expect(KEYS).toContain(key);
      expect(['info', 'warn', 'error']).toContain(event.level);
      if (event.msg === 'request') requests.add(event.requestId);
    }
    expect([...ids].filter((id) => !requests.has(id))).toEqual([]);
    expect(service.stdout()).not.toContain(canary);
  });

  test('logs only type, message, stack and code of the error if the process crashes', async () => {
    service.kill('SIGWINCH');
    const { status } = await service.exited;
    expect(status).not.toBe(0);
    const last = lines()
      .map((line) => JSON.parse(line))
      .find(({ level }) => level === 'fatal');
    expect(Object.keys(last.err).sort()).toEqual(['code', 'message', 'stack', 'type']);
    expect(last.err).toMatchObject({ type: 'Error', message: 'planted', code: '23505' });
    expect(service.stdout() + service.stderr()).not.toContain(canary);
  });
});
