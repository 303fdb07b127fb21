import { describe, expect, test } from 'vitest';
import { readSettings } from '../../src/settings/settings.ts';

describe('invalid addresses (reference §20.4)', () => {
  test.each([
    ['HOST', '999.1.1.1'],
    ['HOST', 'canary host'],
    ['HOST', '127.0.0.1:3000'],
    ['HOST', 'http://canary'],
    ['HOST', '[::1]'],
    ['REDIS_URL', 'redis:canary.example'],
    ['REDIS_URL', 'redis://'],
    ['REDIS_URL', 'redis:///1'],
    ['REDIS_URL', 'redis://canary.example/canary'],
    ['REDIS_URL', 'redis://:100%canary@canary.example'],
    ['REDIS_URL', 'redis://100%canary:x@canary.example'],
    ['REDIS_URL', 'redis://%C3:%A9@canary.example'],
  ])('%s=%j is rejected in one sentence without the value', (name, value) => {
    const read = readSettings({ [name]: value });
    const faults = read.kind === 'invalid' ? read.faults : [];
    expect(faults).toEqual([expect.stringMatching(new RegExp(`^${name} [^\\n]+\\.$`))]);
    expect(faults[0]).not.toMatch(/canary|999|100%|%C3/);
  });
});

describe('valid addresses', () => {
  test.each([
    ['0.0.0.0', 'http://0.0.0.0:3000'],
    ['localhost', 'http://localhost:3000'],
    ['leads_1.internal', 'http://leads_1.internal:3000'],
    ['bücher.internal', 'http://bücher.internal:3000'],
    ['::', 'http://[::]:3000'],
    ['fe80::1%eth0', 'http://[fe80::1]:3000'],
  ])('HOST=%s is accepted, with a link to it', (host, baseUrl) => {
    expect(readSettings({ HOST: host })).toMatchObject({ settings: { host, baseUrl } });
    expect(URL.canParse(baseUrl)).toBe(true);
  });

  test.each([
    'redis://127.0.0.1',
    'redis://[::1]:6379/12',
    'rediss://user:100%25@redis.example/',
    'redis://:a%3Ab@redis.example:6380/0',
  ])('REDIS_URL=%s is accepted', (url) => {
    expect(readSettings({ REDIS_URL: url })).toMatchObject({ settings: { redisUrl: url } });
  });
});
