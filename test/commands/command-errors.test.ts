import { afterEach, expect, test, vi } from 'vitest';
import { describeFailure, ExitFault, SettingsFault, UsageFault } from '../../src/commands/command-errors.ts';

afterEach(() => vi.unstubAllEnvs());

const unforeseen = Object.assign(new Error('It broke.'), { stack: 'Error: It broke.\n    at here' });

test('each kind of error that ends a command has its exit status', () => {
  expect([new ExitFault('a'), new UsageFault('b'), new SettingsFault([])].map(({ status }) => status)).toEqual([
    1, 2, 78,
  ]);
});

test('describeFailure prints a sentence, and a stack only of an unforeseen error with LOG_LEVEL=debug', () => {
  expect(describeFailure(unforeseen)).toEqual(['It broke.']);
  vi.stubEnv('LOG_LEVEL', 'debug');
  expect(describeFailure(unforeseen)).toEqual(['Error: It broke.', '    at here']);
  expect(describeFailure(Object.assign(new Error('It broke.'), { stack: undefined }))).toEqual(['It broke.']);
  expect(describeFailure(new ExitFault('Not valid.'))).toEqual(['Not valid.']);
  expect(describeFailure(new SettingsFault(['PORT is wrong.', 'HOST is wrong.']))).toEqual([
    'PORT is wrong.',
    'HOST is wrong.',
  ]);
});

test('describeFailure has a sentence for what is no error', () => {
  expect(describeFailure('text')).toEqual(['Something unexpected happened.']);
});
