/** Checks both OpenAPI documents with Redocly CLI. `npm run programs` installs it. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { routes } from '../../src/routes.ts';
import { ranToTheEnd } from '../support/ran.ts';
import type { Service } from '../support/service.ts';
import { startForCheckers } from './every-page.ts';

const program = join(import.meta.dirname, 'program/node_modules/@redocly/cli/bin/cli.js');

let service: Service;
beforeAll(async () => {
  if (!existsSync(program)) throw new Error('Install the checkers first: npm run programs');
  service = await startForCheckers();
});
afterAll(() => service.close());

test.each([routes.getOpenapiDocument, routes.getAgentsDocument])(
  'Redocly CLI has no errors and no warnings about $path',
  async ({ path }) => {
    const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
    const file = join(folder, 'openapi.json');
    writeFileSync(file, await (await fetch(service.url + path)).text());
    const argv = ['lint', file, '--extends', 'recommended-strict', '--format', 'json'];
    const child = spawn(process.execPath, [program, ...argv], {
      cwd: folder,
      env: { PATH: process.env.PATH, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    });
    const { status, stdout } = await ranToTheEnd(child);
    rmSync(folder, { recursive: true });
    const { totals, problems } = JSON.parse(stdout);
    expect([status, totals, problems]).toEqual([0, { errors: 0, warnings: 0, ignored: 0 }, []]);
  },
);
