import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { nameOfOperator } from '../../src/console/links.ts';
import { operatorWith, startWithConsole } from '../console/operator.ts';
import { runService } from './run-service.ts';

describe('npm run operator -- link', () => {
  test('prints a link that signs in once at the running service', async () => {
    const service = await startWithConsole();
    const environment = {
      NODE_ENV: 'test',
      DATA_DIR: service.folder,
      BASE_URL: service.url,
      DATABASE_URL: `sqlite:${join(service.folder, 'service.db')}`,
    };
    const ran = await runService(['operator', 'link', '--name', 'Jo Painter'], { environment });
    expect(ran.status).toBe(0);
    expect(ran.stdout).toMatch(new RegExp(`^${service.url}/operator/sign-in/[A-Za-z0-9_-]{22}\\n$`));
    expect(ran.stderr).toBe(
      'This link works once, within 15 minutes. Anybody who has the link can use it, so share it with nobody else.\n',
    );
    const { pathname } = new URL(ran.stdout.trim());
    expect((await operatorWith(service, '').press(pathname, {})).status).toBe(303);
    const bad = await runService(['operator', 'link', '--name', ' '], { environment });
    const why = '--name must be one line of 1 to 80 visible characters, without hidden characters.\n';
    expect(bad).toEqual({ status: 2, stdout: '', stderr: why });
    expect((await runService(['operator', 'link'], { environment })).stderr).toBe(why);
    const json = await runService(['operator', 'link', '--name', 'Jo', '--json'], { environment });
    expect(JSON.parse(json.stdout)).toEqual({ name: 'Jo', url: expect.stringContaining('/operator/sign-in/') });
    const off = await runService(['operator', 'link', '--name', 'Jo'], {
      environment: { ...environment, OPERATOR_CONSOLE: 'off' },
    });
    expect(off.stderr).toMatch(/^The console is off\. Set OPERATOR_CONSOLE=on and restart the service\.\nThis link/);
    await service.close();
  });

  test.each<[string, string | undefined]>([
    ['Jo', 'Jo'],
    [' Jo Painter ', 'Jo Painter'],
    ['Łukasz 🎨', 'Łukasz 🎨'],
    ['a'.repeat(80), 'a'.repeat(80)],
    ['a'.repeat(81), undefined],
    ['', undefined],
    ['\u200b', undefined],
    ['\u2800', undefined],
    ['a\nb', undefined],
    ['a\u0007b', undefined],
  ])('accepts names of 1 to 80 visible characters: %j', (typed, name) => {
    expect(nameOfOperator(typed)).toBe(name);
  });
});
