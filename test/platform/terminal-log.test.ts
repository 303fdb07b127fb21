import { expect, test, vi } from 'vitest';
import { terminalLine } from '../../src/platform/terminal-log.ts';

const at = new Date(2026, 8, 1, 13, 21, 54).toISOString();
const line = (event: Record<string, unknown>) => terminalLine(JSON.stringify({ level: 'info', time: at, ...event }));

test('the log on a terminal has one line for a request, without its id', () => {
  const request = { msg: 'request', requestId: 'r-1', method: 'POST', route: '/api/leads', status: 303, ms: 9.4 };
  expect(line(request)).toBe('13:21:54  POST /api/leads  303  9 ms\n');
});

test.each([
  [200, '32'],
  [399, '32'],
  [400, '33'],
  [499, '33'],
  [500, '31'],
])('the status %i of a request has the colour %s on a terminal that shows colours', (status, colour) => {
  const { stdout } = process;
  const isTty = stdout.isTTY;
  vi.stubEnv('NO_COLOR', undefined);
  vi.stubEnv('FORCE_COLOR', '1');
  stdout.isTTY = true;
  const shown = line({ msg: 'request', method: 'GET', route: '/', status, ms: 1 });
  stdout.isTTY = isTty;
  vi.unstubAllEnvs();
  expect(shown).toContain(`\u001b[${colour}m${status}\u001b[39m`);
});

test('the log on a terminal has the level of a warning, the facts of an event, and the stack of an error', () => {
  expect(line({ msg: 'draining', openRequests: 2 })).toBe('13:21:54  draining  openRequests=2\n');
  expect(line({ level: 'warn', msg: 'store unavailable' })).toBe('13:21:54  warn: store unavailable\n');
  const err = { type: 'Error', message: 'broken', stack: 'Error: broken\n    at here' };
  expect(line({ level: 'error', msg: 'not sent', requestId: 'r-1', err })).toBe(
    '13:21:54  error: not sent  requestId="r-1"\nError: broken\n    at here\n',
  );
});
