import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { Command } from '../../src/commands/command.ts';
import { runCommand } from '../../src/commands/command-line.ts';
import { openTerminal } from '../../src/commands/terminal.ts';
import { project, runService, temporaryFolder } from './run-service.ts';

const version = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')).version;

describe('bin/service.js', () => {
  const pretendNode = (found: string) => {
    const text = `Object.defineProperty(process, 'versions', { value: { node: '${found}' } })`;
    return ['--import', `data:text/javascript,${encodeURIComponent(text)}`];
  };

  test.each(['12.22.12', '20.20.2', '25.9.0'])(
    'on Node %s says in one sentence what helps, and ends with 1',
    async (found) => {
      const ran = await runService(['start'], { nodeOptions: pretendNode(found) });
      expect(ran).toMatchObject({ status: 1, stdout: '' });
      expect(ran.stderr.trim().split('\n')).toHaveLength(1);
      for (const words of [found, 'npm ci', 'npm start', 'npm rebuild node']) {
        expect(ran.stderr).toContain(words);
      }
    },
  );

  test('can be read by a Node that knows no newer syntax than dynamic import', () => {
    const code = readFileSync(join(project, 'bin/service.js'), 'utf8');
    expect(code).not.toMatch(/\?\.|\?\?|\bawait\b|\basync\b|^\s*(import|export)\s[^(]|\.\.\./m);
  });

  test('starts every command that its help and package.json name, and no other', async () => {
    const code = readFileSync(join(project, 'bin/service.js'), 'utf8');
    const started = [...code.matchAll(/^ {4}(\w+): \(\) => import\(/gm)].map(([, name]) => name);
    const { stdout } = await runService(['--help']);
    const told = [...stdout.matchAll(/^ {2}node bin\/service\.js (\w+)$/gm)].map(
      ([, name]) => name,
    );
    const { scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
    const offered = Object.entries<string>(scripts).flatMap(([script, line]) => {
      const [, name] = /node bin\/service\.js (\w+)$/.exec(line) ?? [];
      return name === undefined ? [] : [`${script} ${name}`];
    });
    expect(told).toEqual(started);
    expect(offered.sort()).toEqual(started.map((name) => `${name} ${name}`).sort());
  });

  test('says to run npm ci where the dependencies are not installed', async () => {
    const folder = temporaryFolder();
    for (const part of ['bin', 'src', 'package.json']) {
      cpSync(join(project, part), join(folder, part), { recursive: true });
    }
    const ran = await runService(['settings'], { entry: join(folder, 'bin/service.js') });
    expect(ran).toMatchObject({ status: 1, stdout: '' });
    expect(ran.stderr).toMatch(/^[^\n]*npm ci[^\n]*\n$/);
  });

  test('takes a setting from .env of the folder it runs in', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, '.env'), 'PORT=0\n');
    const ran = await runService(['settings'], { folder });
    expect(ran).toEqual({ status: 78, stdout: '', stderr: 'PORT must be from 1 to 65535.\n' });
  });
});

describe('every command', () => {
  const commands = ['credentials', 'inbox', 'erase', 'settings', 'doctor', ''];
  const named = (name: string) => (name === '' ? [] : [name]);

  test.each(commands)('%s --help shows examples before usage, on stdout', async (name) => {
    const ran = await runService([...named(name), '--help']);
    expect(ran).toMatchObject({ status: 0, stderr: '' });
    expect(ran.stdout.indexOf('Examples:')).toBeGreaterThan(-1);
    expect(ran.stdout.indexOf('Usage:')).toBeGreaterThan(ran.stdout.indexOf('Examples:'));
  });

  test.each(commands)('%s --version says the version', async (name) => {
    expect(await runService([...named(name), '--version'])).toEqual({
      status: 0,
      stdout: `${version}\n`,
      stderr: '',
    });
  });

  test.each([
    [['settings', '--jsn'], '--json'],
    [['doctor', '--no-sned'], '--no-send'],
    [['inbox', 'exprot'], 'export'],
    [['inbox', 'list', '--limt', '3'], '--limit'],
    [['credentials', 'revok', 'acme'], 'revoke'],
    [['credentails', 'list'], 'credentials'],
  ])('%j is answered with the nearest match, %s, and status 2', async (args, nearest) => {
    const ran = await runService(args);
    expect(ran).toMatchObject({ status: 2, stdout: '' });
    expect(ran.stderr).toContain(`did you mean ${nearest}?`);
  });

  test.each([
    [['settings', '--zzzzzzzz']],
    [['settings', 'extra']],
    [['settings', '--json=yes']],
    [['credentials', 'issue', 'acme', '--scope']],
    [['credentials', 'issue', 'acme', '--expires', '2027-02-30']],
    [['credentials', 'rotate', 'acme', '--overlap', 'soon']],
    [['credentials', 'issue', 'Acme Assistant']],
    [['credentials', 'issue']],
    [['credentials']],
    [['inbox', 'export', '--format', 'xml']],
    [['inbox', 'list', '--limit', '0']],
    [['inbox', 'list', '--form', 'quote']],
    [['inbox', 'list', '--since', 'yesterday']],
    [['inbox', 'list', '--until', '2026-02-30']],
    [['inbox', 'list', '--status', 'lost']],
    [['inbox', 'list', '--origin', 'robot']],
    [['inbox', 'list', '--search', ' ']],
    [['inbox', 'export', '--json', '--limit', '-1']],
    [['doctor', '--mail-to', 'nobody']],
    [['erase']],
    [['erase', 'canary-nobody']],
    [['erase', '-', '--yes']],
    [['start', '--port', '4000']],
  ])('%j is a mistake of the command line: one sentence and status 2', async (args) => {
    const ran = await runService(args);
    expect(ran).toMatchObject({ status: 2, stdout: '' });
    expect(ran.stderr).toMatch(/^[^\n]+\n$/);
  });

  test('lists every fault of the settings on a line of its own, with status 78', async () => {
    const environment = { PORT: 'x', LOG_LEVEL: 'loud', UPSTREAM_SECRET: 'canary-secret' };
    const ran = await runService(['doctor'], { environment });
    expect(ran).toMatchObject({ status: 78, stdout: '' });
    expect(ran.stderr.trim().split('\n')).toHaveLength(3);
    expect(ran.stderr).not.toContain('canary-secret');
  });
});

describe('an unexpected failure', () => {
  const broken: Command = {
    invocation: 'broken',
    meaning: 'breaks',
    examples: [],
    actions: {
      '': {
        meaning: 'breaks',
        operands: [],
        options: {},
        run: async () => {
          throw new Error('It broke.');
        },
      },
    },
  };

  test('is one sentence and status 1, without a stack trace', async () => {
    const streams = testStreams({});
    const before = process.exitCode;
    expect(await runCommand(broken, [], streams)).toBe(1);
    process.exitCode = before;
    expect(written(streams.stderr)).toBe('It broke.\n');
  });
});

describe('a terminal', () => {
  test('gets colour, and nothing else does', () => {
    const colour = (isTTY: boolean, env = {}) =>
      openTerminal(testStreams({ isTTY, env }), false).emphasize('bold', 'x');
    expect(colour(true)).toBe('\u001B[1mx\u001B[0m');
    expect(colour(false)).toBe('x');
    expect(colour(true, { NO_COLOR: '1' })).toBe('x');
    expect(colour(true, { TERM: 'dumb' })).toBe('x');
  });

  test.each([
    ['y', true],
    ['YES', true],
    ['', false],
    ['n', false],
    ['yesterday', false],
  ])('is asked before something is destroyed: %j means %s', async (answer, expected) => {
    const streams = testStreams({ isTTY: true });
    const confirmed = openTerminal(streams, false).confirm('Revoke it?', false);
    streams.stdin.write(`${answer}\n`);
    expect(await confirmed).toBe(expected);
    expect(written(streams.stderr)).toContain('Revoke it? [y/N]');
  });

  test('that goes away without an answer has said no', async () => {
    const streams = testStreams({ isTTY: true });
    const confirmed = openTerminal(streams, false).confirm('Revoke it?', false);
    streams.stdin.end();
    expect(await confirmed).toBe(false);
  });

  test('is not asked where --yes is given', async () => {
    expect(await openTerminal(testStreams({}), false).confirm('Revoke it?', true)).toBe(true);
  });
});

function testStreams({ isTTY = false, env = {} }: { isTTY?: boolean; env?: object }) {
  const stream = () => Object.assign(new PassThrough(), { isTTY });
  return { stdin: stream(), stdout: stream(), stderr: stream(), env: { ...env } };
}

function written(stream: PassThrough): string {
  let text = '';
  for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) text += chunk;
  return text;
}
