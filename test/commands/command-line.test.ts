import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import type { Command } from '../../src/commands/command-line.ts';
import { runCommand } from '../../src/commands/command-line.ts';
import { openTerminal, printTable, type Terminal, tableOf, writeRecords } from '../../src/commands/terminal.ts';
import { hostileCharacters, hostileIn, legitimateNames } from '../support/hostile.ts';
import { project } from '../support/program.ts';
import { runService, temporaryFolder } from './run-service.ts';

const version = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')).version;

describe('bin/service.js', () => {
  const pretendNode = (found: string) => {
    const text = `Object.defineProperty(process, 'versions', { value: { node: '${found}' } })`;
    return ['--import', `data:text/javascript,${encodeURIComponent(text)}`];
  };

  test.each(['12.22.12', '20.20.2', '25.9.0'])('exits with 1 and one sentence on Node %s', async (found) => {
    const ran = await runService(['start'], { nodeOptions: pretendNode(found) });
    expect(ran).toMatchObject({ status: 1, stdout: '' });
    expect(ran.stderr.trim().split('\n')).toHaveLength(1);
    for (const words of [found, 'npm ci', 'npm start', 'npm rebuild node']) {
      expect(ran.stderr).toContain(words);
    }
  });

  test('uses no syntax newer than dynamic import, so that an old Node can print the reason', () => {
    const code = readFileSync(join(project, 'bin/service.js'), 'utf8');
    expect(code).not.toMatch(/\?\.|\?\?|\bawait\b|\basync\b|^\s*(import|export)\s[^(]|\.\.\./m);
  });

  test('starts exactly the commands that its help and package.json name', async () => {
    const code = readFileSync(join(project, 'bin/service.js'), 'utf8');
    const started = [...code.matchAll(/^ {4}(\w+): \(\) => import\(/gm)].map(([, name]) => name);
    const { stdout } = await runService(['--help']);
    const told = [...stdout.matchAll(/^ {2}npm run (\w+)$/gm)].map(([, name]) => name);
    const { scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
    const offered = Object.entries<string>(scripts).flatMap(([script, line]) => {
      const [, name] = /\bnode (?:\$\(.+\) )?bin\/service\.js (\w+)$/.exec(line) ?? [];
      return name === undefined ? [] : [`${script} ${name}`];
    });
    expect(told).toEqual(started);
    expect(offered.sort()).toEqual(started.map((name) => `${name} ${name}`).sort());
  });

  test('tells the user to run npm ci if the dependencies are not installed', async () => {
    const folder = temporaryFolder();
    for (const part of ['bin', 'src', 'package.json']) {
      cpSync(join(project, part), join(folder, part), { recursive: true });
    }
    const ran = await runService(['settings'], { entry: join(folder, 'bin/service.js') });
    expect(ran).toMatchObject({ status: 1, stdout: '' });
    expect(ran.stderr).toMatch(/^[^\n]*npm ci[^\n]*\n$/);
  });

  test('reads settings from .env in the current folder', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, '.env'), 'PORT=0\n');
    const ran = await runService(['settings'], { folder });
    expect(ran).toEqual({ status: 78, stdout: '', stderr: 'PORT must be from 1 to 65535.\n' });
  });
});

describe('service, any command', () => {
  const commands = [
    ...['credentials', 'inbox', 'subscribers', 'erase', 'backup', 'restore', 'settings', 'doctor', 'verify-receipt'],
    ...['operator', 'demo', ''],
  ];
  const named = (name: string) => (name === '' ? [] : [name]);

  test.each(commands)('%s --help prints the recorded help on stdout, with examples before usage', async (name) => {
    const ran = await runService([...named(name), '--help']);
    expect(ran).toMatchObject({ status: 0, stderr: '' });
    expect(ran.stdout).toMatch(/^Examples:$[\s\S]*^Usage:$/m);
    await expect(ran.stdout).toMatchFileSnapshot(`help/${name || 'service'}.txt`);
  });

  test.each(commands)('%s --version prints the version', async (name) => {
    expect(await runService([...named(name), '--version'])).toEqual({
      status: 0,
      stdout: `${version}\n`,
      stderr: '',
    });
  });
});

describe('runCommand', () => {
  const broken: Command = {
    invocation: 'broken',
    description: 'breaks',
    examples: [],
    subcommands: {
      '': {
        description: 'breaks',
        operands: [],
        options: {},
        run: async () => {
          throw new Error('It broke.');
        },
      },
    },
  };

  test('prints one sentence without a stack trace and returns 1 if the command throws', async () => {
    const streams = testStreams({});
    const before = process.exitCode;
    expect(await runCommand(broken, [], streams)).toBe(1);
    process.exitCode = before;
    expect(written(streams.stderr)).toBe('It broke.\n');
  });
});

describe('openTerminal', () => {
  test('uses colour on a terminal only, and not with NO_COLOR or TERM=dumb', () => {
    const colour = (isTTY: boolean, env = {}) =>
      shownTo(isTTY, env, (terminal) => terminal.print('a ', { emphasis: 'bold', text: 'x' }));
    expect(colour(true)).toBe('a \u001B[1mx\u001B[0m\n');
    const bad = { emphasis: 'bad', text: 'x' } as const;
    expect(shownTo(true, {}, (terminal) => terminal.print(bad))).toBe('\u001B[31mx\u001B[0m\n');
    const good = { emphasis: 'good', text: 'x' } as const;
    expect(shownTo(true, {}, (terminal) => terminal.print(good))).toBe('\u001B[32mx\u001B[0m\n');
    expect(colour(false)).toBe('a x\n');
    expect(colour(true, { NO_COLOR: '1' })).toBe('a x\n');
    expect(colour(true, { TERM: 'dumb' })).toBe('a x\n');
  });

  test.each(Object.entries(hostileCharacters))('prints %s as an escape on a terminal', (_name, character) => {
    const evil = `a${character}b`;
    const asEscape = /a(\\u[\da-f]{4}){1,2}b/;
    expect(shownTo(true, {}, (terminal) => terminal.print(evil))).toMatch(asEscape);
    expect(shownTo(true, {}, (terminal) => terminal.say(evil))).toMatch(asEscape);
    const bold = { emphasis: 'bold', text: evil } as const;
    expect(shownTo(true, {}, (terminal) => terminal.print(bold))).toMatch(asEscape);
    expect(shownTo(true, {}, (terminal) => terminal.confirm(evil, false))).toMatch(asEscape);
    const csv = (terminal: Terminal) => terminal.write(`"${evil}",c\r\nd\r\n`, 'csv');
    expect(shownTo(true, {}, csv)).toMatch(asEscape);
    expect(shownTo(false, {}, csv)).toBe(`"${evil}",c\r\nd\r\n`);
    for (const isTTY of [true, false]) {
      const json = shownTo(isTTY, {}, (terminal) => terminal.write(`${JSON.stringify(evil)}\n`));
      expect([hostileIn(json), JSON.parse(json)]).toEqual([[], evil]);
    }
  });

  test.each(legitimateNames)('prints the name %s unchanged', (name) => {
    expect(shownTo(true, {}, (terminal) => terminal.print(name))).toBe(`${name}\n`);
  });

  test('src/commands/terminal.ts is the only file of the commands that writes to stdout or stderr', () => {
    const writers = globSync('src/commands/**/*.ts', { cwd: project }).filter((path) =>
      /\bstd(out|err)\.write|\bconsole\.|process\.std(out|err)/.test(readFileSync(join(project, path), 'utf8')),
    );
    expect(writers).toEqual(['src/commands/terminal.ts']);
  });

  test.each([
    ['y', true],
    [' YES ', true],
    ['', false],
    ['n', false],
    ['yesterday', false],
  ])('confirm returns for the typed answer %j: %s', async (answer, expected) => {
    const streams = testStreams({ isTTY: true });
    const confirmed = openTerminal(streams, false).confirm('Revoke it?', false);
    streams.stdin.write(`${answer}\n`);
    expect(await confirmed).toBe(expected);
    expect(streams.stdin.isPaused()).toBe(true);
    expect(written(streams.stderr)).toContain('Revoke it? [y/N]');
  });

  test.each(['stdin', 'stderr'] as const)('confirm requires --yes if %s is no terminal', async (name) => {
    const streams = testStreams({ isTTY: true });
    streams[name].isTTY = false;
    await expect(openTerminal(streams, false).confirm('Revoke it?', false)).rejects.toThrow(
      'Revoke it? This is not a terminal, so confirm with --yes.',
    );
  });

  test('confirm returns false after Ctrl-C', async () => {
    const streams = testStreams({ isTTY: true });
    const confirmed = openTerminal(streams, false).confirm('Revoke it?', false);
    streams.stdin.write('\u0003');
    expect(await confirmed).toBe(false);
  });

  test('confirm returns false if the input ends without an answer', async () => {
    const streams = testStreams({ isTTY: true });
    const confirmed = openTerminal(streams, false).confirm('Revoke it?', false);
    streams.stdin.end();
    expect(await confirmed).toBe(false);
  });

  test.each([
    [true, 'Address: '],
    [false, ''],
  ])('readLine asks at a terminal only, and returns the first line or nothing: %s', async (isTTY, asked) => {
    for (const [input, line] of [
      ['ada\neve\n', 'ada'],
      ['', ''],
    ] as const) {
      const streams = testStreams({ isTTY });
      streams.stdin.end(input);
      expect(await openTerminal(streams, false).readLine('Address:')).toBe(line);
      expect([written(streams.stdout), written(streams.stderr)]).toEqual(['', asked]);
    }
  });

  test.each([
    ['EPIPE', 0],
    ['EIO', 1],
  ])('ends the process after the error %s of stdout with status %i', (code, status) => {
    const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
    const streams = testStreams({});
    openTerminal(streams, false);
    streams.stdout.emit('error', Object.assign(new Error('gone'), { code }));
    expect(exit.mock.calls).toEqual([[status]]);
    exit.mockRestore();
  });

  test('printTable prints the head bold, and tableOf aligns cells and leaves out spaces at the end', () => {
    const rows = tableOf([
      ['NAME', 'AGE'],
      ['Ada', ''],
      ['Augusta', '36'],
    ]);
    expect(rows).toEqual(['NAME     AGE', 'Ada', 'Augusta  36']);
    const table = shownTo(true, {}, (terminal) => printTable(terminal, rows));
    expect(table).toBe('\u001B[1mNAME     AGE\u001B[0m\nAda\nAugusta  36\n');
  });

  test.each([
    [undefined, 'id\r\n1\r\n2\r\n3\r\n4\r\n', 3],
    [3, 'id\r\n1\r\n2\r\n3\r\n', 2],
    [2, 'id\r\n1\r\n2\r\n', 1],
  ])('writeRecords writes up to %s rows, and reads no further page', async (limit, text, read) => {
    let pages = 0;
    async function* all() {
      for (const page of [[1, 2], [3, 4], []]) {
        pages += 1;
        yield page;
      }
    }
    const formats = { head: 'id\r\n', csv: (row: number) => `${row}\r\n`, jsonl: (row: number) => `${row}\n` };
    const streams = testStreams({});
    await writeRecords(openTerminal(streams, false), 'csv', formats, all(), limit);
    expect([written(streams.stdout), pages]).toEqual([text, read]);
    const json = testStreams({});
    await writeRecords(openTerminal(json, true), 'jsonl', formats, all(), 1);
    expect(written(json.stdout)).toBe('1\n');
  });

  test('tableOf aligns rows of fewer cells than the head, and printTable prints an empty line for no rows', () => {
    expect(tableOf([['A', 'LONG'], ['x']])).toEqual(['A  LONG', 'x']);
    expect(tableOf([])).toEqual([]);
    expect(shownTo(false, {}, (terminal) => printTable(terminal, []))).toBe('\n');
  });

  test('write waits until a slow reader has taken the lines', async () => {
    const streams = { ...testStreams({}), stdout: new PassThrough({ highWaterMark: 1 }) };
    let isDone = false;
    const done = openTerminal(streams, false)
      .write('{}\n')
      .then(() => {
        isDone = true;
      });
    await setImmediate();
    expect(isDone).toBe(false);
    expect(written(streams.stdout)).toBe('{}\n');
    await done;
  });

  test('write leaves out the mark at the beginning of a CSV at a terminal only', () => {
    const csv = (terminal: Terminal) => terminal.write('\uFEFFa\r\nb\r\n', 'csv');
    expect([shownTo(true, {}, csv), shownTo(false, {}, csv)]).toEqual(['a\nb\n', '\uFEFFa\r\nb\r\n']);
  });

  test('confirm returns true without a question if --yes was given', async () => {
    expect(await openTerminal(testStreams({}), false).confirm('Revoke it?', true)).toBe(true);
  });
});

function testStreams({ isTTY = false, env = {} }: { isTTY?: boolean; env?: object }) {
  const stream = () => Object.assign(new PassThrough(), { isTTY });
  return { stdin: stream(), stdout: stream(), stderr: stream(), env: { ...env } };
}

/** Returns everything that a command writes to both streams. */
function shownTo(isTTY: boolean, env: object, use: (terminal: Terminal) => unknown): string {
  const streams = testStreams({ isTTY, env });
  void use(openTerminal(streams, false));
  return written(streams.stdout) + written(streams.stderr);
}

function written(stream: PassThrough): string {
  let text = '';
  for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) text += chunk;
  return text;
}
