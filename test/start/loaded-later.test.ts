import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { executeAction, previewId } from '../support/agent.ts';
import { cert } from '../support/certificate.ts';
import { startProcess, temporaryFolder } from '../support/process.ts';
import { startTlsReceiver } from '../support/tls-receiver.ts';

const packagesLoaded = import.meta.resolve('../support/packages-loaded.ts');
const builtinsLoaded = import.meta.resolve('../support/builtins-loaded.ts');

test('a start on a database that has its schema listens before the query builder is loaded', async () => {
  const first = await startProcess();
  await first.end();
  const second = await startProcess({ preload: [packagesLoaded], dataDir: first.dataDir });
  const [before, ...after] = second.stdout().split('the service listens');
  expect(after).toHaveLength(1);
  expect(before).toContain('/node_modules/fastify/');
  expect(before).not.toContain('/node_modules/kysely/');
  await second.end();
});

test('a start loads neither TLS nor HTTP/2', async () => {
  const service = await startProcess({ preload: [builtinsLoaded] });
  service.kill('SIGTERM');
  await service.exited;
  expect(service.stdout()).toMatch(/NativeModule http,/);
  expect(service.stdout()).not.toMatch(/NativeModule (?:https|tls|http2|_tls)/);
});

test('an upstream over https is reached: TLS is loaded for it, HTTP/2 is not', async () => {
  const receiver = await startTlsReceiver();
  const dataDir = temporaryFolder();
  const certificates = join(dataDir, 'certificates.pem');
  writeFileSync(certificates, cert);
  const service = await startProcess({
    dataDir,
    preload: [builtinsLoaded],
    environment: { UPSTREAM_URL: receiver.url, NODE_EXTRA_CA_CERTS: certificates },
  });
  const { status } = await executeAction(service, await previewId(service));
  expect({ status, spoken: receiver.spoken }).toEqual({ status: 200, spoken: ['1.1'] });
  service.kill('SIGTERM');
  await service.exited;
  expect(service.stdout()).toMatch(/NativeModule tls\b/);
  expect(service.stdout()).not.toMatch(/NativeModule http2/);
  receiver.close();
});
