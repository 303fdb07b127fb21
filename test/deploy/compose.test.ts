import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { CORE_SCHEMA, load, mergeTag } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import { readDockerfile } from '../../deploy/dockerfile.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { LEASE_MARGIN_MS } from '../../src/submissions/lead-store.ts';
import { newKey } from '../support/receipts.ts';

const project = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(project, path), 'utf8');

/** The compose file, untyped. */
const compose: ReturnType<typeof JSON.parse> = load(read('deploy/compose.yaml'), {
  schema: CORE_SCHEMA.withTags(mergeTag),
});
const image = readDockerfile(read('deploy/Dockerfile')).at(-1)?.image ?? expect.fail();
const instances = ['service-1', 'service-2', 'service-3'];
const nginxAddress: string = compose.services.nginx.networks.front.ipv4_address;

/** Contents of the secrets that the compose file names, in the formats of docs/operations.md. */
const secrets: Record<string, string> = {
  database_url: 'postgres://service:password@postgres:5432/service',
  redis_url: 'redis://:password@redis:6379',
  upstream_secret: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
  preview_signing_keys: Buffer.alloc(32, 'key').toString('base64'),
  receipt_signing_keys: newKey(),
  smtp_url: 'smtp://user:password@mail.example.com:587',
};

/** Returns the environment of a container, with its secrets written to temporary files. */
function environmentOf(name: string): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'secrets-'));
  const given: Record<string, string> = compose.services[name].environment;
  const entries = Object.entries(given).map(([variable, value]) => {
    const secret = /^\/run\/secrets\/(.*)$/.exec(value)?.[1];
    if (secret === undefined) return [variable, value];
    expect(compose.services[name].secrets).toContain(secret);
    expect(compose.secrets).toHaveProperty(secret);
    const path = join(folder, secret);
    writeFileSync(path, secrets[secret] ?? expect.fail(secret));
    return [variable, path];
  });
  return { ...image.environment, ...Object.fromEntries(entries) };
}

describe('deploy/compose.yaml', () => {
  test.each([...instances, 'command'])('gives %s valid and complete settings', (name) => {
    const settings = readSettings(environmentOf(name));
    expect(settings).toMatchObject({
      kind: 'valid',
      settings: {
        mode: 'production',
        host: '0.0.0.0',
        database: { kind: 'postgres' },
        redisUrl: secrets.redis_url,
        upstream: { kind: 'http', secrets: [expect.any(Buffer)] },
        mail: { kind: 'smtp' },
        credentialsFile: '/credentials/agents.json',
        trustProxy: [nginxAddress],
      },
    });
    if (settings.kind !== 'valid') return;
    const grace = Number(/^(\d+)s$/.exec(compose.services[name].stop_grace_period)?.[1]) * 1_000;
    expect(grace).toBeGreaterThan(settings.settings.upstreamTimeoutMs + LEASE_MARGIN_MS);
  });

  test('starts each instance after the databases, with a read-only root and the address in the nginx settings', () => {
    const addresses = [...read('deploy/nginx-instances.conf').matchAll(/^server (\S+):3000 /gm)];
    expect(addresses.map(([, address]) => address)).toEqual(
      instances.map((name) => compose.services[name].networks.front.ipv4_address),
    );
    const healthy = { condition: 'service_healthy' };
    for (const name of instances) {
      expect(compose.services[name]).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        depends_on: { postgres: healthy, redis: healthy },
      });
      expect(compose.services.nginx.depends_on[name]).toEqual(healthy);
      expect(compose.services[name].ports).toBeUndefined();
    }
  });

  test('mounts only files that exist, and uses only secrets that docs/operations.md explains', () => {
    const paths: string[] = compose.services.nginx.volumes.map((mount: string) => mount.split(':')[0]);
    for (const path of paths) expect(existsSync(join(project, 'deploy', path))).toBe(true);
    const made = Object.keys(compose.secrets).map((name) => `secrets/${name}`);
    for (const path of made) expect(read('docs/operations.md')).toContain(path);
  });
});

describe('deploy/Dockerfile', () => {
  test('runs as a numeric user other than root, without a shell, and labels its version and license', () => {
    expect(image.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    const started = [...image.entrypoint, ...image.command];
    expect(started.slice(-2)).toEqual(['/app/dist/service.js', 'start']);
    const flags = started.slice(1, -2);
    expect(flags).toEqual(expect.arrayContaining(['--permission', '--disable-proto=delete']));
    expect(flags.filter((flag) => flag.startsWith('--allow-fs-write'))).toEqual(['--allow-fs-write=/data']);
    expect(image.healthCheck?.join(' ')).toContain('/healthz');
    expect(image.volumes).toEqual(['/data']);
    expect(image.environment).toMatchObject({ NODE_ENV: 'production', HOST: '0.0.0.0' });
    const { version, license } = JSON.parse(read('package.json'));
    expect(image.labels).toMatchObject({
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': license,
    });
  });

  test('copies exactly the paths that Dockerfile.dockerignore allows', () => {
    const copied = readDockerfile(read('deploy/Dockerfile')).flatMap(({ steps }) =>
      steps.flatMap((step) =>
        step.kind === 'copy' && step.copy.from === undefined ? step.copy.paths.slice(0, -1) : [],
      ),
    );
    const [first, ...allowed] = read('deploy/Dockerfile.dockerignore').trim().split('\n');
    expect(first).toBe('*');
    expect(allowed.sort()).toEqual([...new Set(copied)].map((path) => `!${path}`).sort());
  });

  test('readDockerfile throws for an instruction in shell form and for an unknown instruction', () => {
    expect(() => readDockerfile('FROM scratch\nCMD node bin/service.js\n')).toThrow();
    expect(() => readDockerfile('FROM scratch\nADD . .\n')).toThrow('ADD is not known here.');
  });
});
