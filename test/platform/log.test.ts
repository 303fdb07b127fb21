import { expect, test } from 'vitest';
import { type LogLevel, openLog } from '../../src/platform/log.ts';

/** Returns a log, and its lines without their time. */
function logOf(level: LogLevel) {
  const lines: string[] = [];
  const log = openLog(level, (line) => lines.push(line));
  const events = () =>
    lines.map((line) => {
      expect(line).toMatch(/^\{[^\n]*\}\n$/);
      const { time, ...event } = JSON.parse(line);
      expect(new Date(time).toISOString()).toBe(time);
      return event;
    });
  return { log, events };
}

test('a line is one JSON object with level, time, message and the facts that have a value', () => {
  const { log, events } = logOf('info');
  log.info('alone');
  log.warn({}, 'no facts');
  log.warn({ absent: undefined }, 'no value');
  log.error({ text: 'é "\n\u2028', count: 3, none: null, outcome: { kind: 'confirmed' } }, 'facts "and"\nlines');
  expect(events()).toEqual([
    { level: 'info', msg: 'alone' },
    { level: 'warn', msg: 'no facts' },
    { level: 'warn', msg: 'no value' },
    {
      ...{ level: 'error', msg: 'facts "and"\nlines' },
      ...{ text: 'é "\n\u2028', count: 3, none: null, outcome: { kind: 'confirmed' } },
    },
  ]);
});

test.each<[LogLevel, string[]]>([
  ['trace', ['info', 'warn', 'error', 'fatal']],
  ['debug', ['info', 'warn', 'error', 'fatal']],
  ['info', ['info', 'warn', 'error', 'fatal']],
  ['warn', ['warn', 'error', 'fatal']],
  ['error', ['error', 'fatal']],
  ['fatal', ['fatal']],
  ['silent', []],
])('the level %s writes the lines of %j', (level, written) => {
  const { log, events } = logOf(level);
  for (const each of ['info', 'warn', 'error', 'fatal'] as const) log[each](each);
  expect(events()).toEqual(written.map((each) => ({ level: each, msg: each })));
});

test('an error is logged with type, messages, stacks and code, and without its other properties', () => {
  const { log, events } = logOf('info');
  const cause = Object.assign(new TypeError('the cause'), { detail: 'a row' });
  const err = Object.assign(new RangeError('the error', { cause }), { code: '23505', detail: 'a row' });
  log.error({ err, requestId: 'r' }, 'unexpected error');
  const type = 'RangeError';
  const stack = expect.stringMatching(/^RangeError: the error\n[\s\S]*\ncaused by: TypeError: the cause\n/);
  expect(events()).toEqual([
    {
      ...{ level: 'error', msg: 'unexpected error', requestId: 'r' },
      err: { type, message: 'the error: the cause', stack, code: '23505' },
    },
  ]);
});

test('an error that is its own cause, and a thrown value that is no error, are logged', () => {
  const { log, events } = logOf('info');
  const err = new Error('a loop');
  err.cause = err;
  for (const each of [err, 'text of a caller', 1n, undefined]) log.error({ err: each }, 'thrown');
  expect(events().map((event) => event.err)).toEqual([
    { type: 'Error', message: 'a loop', stack: err.stack },
    { type: 'string' },
    { type: 'bigint' },
    { type: 'undefined' },
  ]);
});
