import { describe, expect, test } from 'vitest';
import { hostOf, isDocumentAddress, isListed, isReturnAddress, withParameters } from '../../src/oauth/addresses.ts';

const hosts = ['chat.example', '127.1', 'host.example'];

describe('isDocumentAddress', () => {
  test.each([
    'https://chat.example/',
    'https://chat.example/oauth/client.json?v=2',
    'https://host.example:8443/client.json',
  ])('accepts %s', (address) => {
    expect(isDocumentAddress(address, hosts)).toBe(true);
  });

  test.each([
    'http://chat.example/client.json',
    'xhttps://chat.example/client.json',
    'https://chat.example',
    'https://other.example/client.json',
    'https://chat.example.other.example/client.json',
    'https://chat.example@other.example/client.json',
    'https://chat.example:443/client.json',
    'https://chat.example:99999/client.json',
    'https://chat.example:/client.json',
    'https://chat.example:x/client.json',
    'https://CHAT.example/client.json',
    'https://127.1/client.json',
    'https://chat.example/a/../client.json',
    'https://chat.example/client.json#part',
    'https://chat.example/client.json\\x',
    'https://chat.example/client json',
    'https://chat.example/client.json\n',
    'https://chat.example/é',
    '',
  ])('refuses %j', (address) => {
    expect(isDocumentAddress(address, hosts)).toBe(false);
  });
});

describe('isReturnAddress', () => {
  test.each([
    'https://chat.example',
    'https://chat.example/',
    'https://chat.example/back?state=1',
    'https://chat.example?back',
    'http://127.0.0.1/',
    'http://127.0.0.1:53123/back?x=1',
    'http://[::1]:1/back',
    'http://localhost',
    'http://localhost:65535?back',
  ])('accepts %s', (address) => {
    expect(isReturnAddress(address, hosts)).toBe(true);
  });

  test.each([
    'http://chat.example/back',
    'https://other.example/back',
    'https://chat.example:8443/back',
    'https://chat.example.other.example/back',
    'https://chat.example@other.example/back',
    'https://127.1/back',
    'https://chat.example/back#part',
    'https://chat.example/back\\x',
    'https://chat.example/back\n',
    ' https://chat.example/back',
    'http://127.0.0.2/back',
    'http://localhost.other.example/back',
    'http://localhost@other.example/back',
    'http://localhost:99999/back',
    'http://localhost:123456/back',
    'http://localhost:x/back',
    'http://localhost/back#part',
    'xhttp://localhost/back',
    'app:/back',
    'chat.example',
    '',
  ])('refuses %j', (address) => {
    expect(isReturnAddress(address, hosts)).toBe(false);
  });
});

test('isListed accepts a listed address, and a loopback address with any port', () => {
  const listed = ['https://chat.example/back', 'http://127.0.0.1/back?x', 'http://localhost:80/back'];
  const accepted = ['https://chat.example/back', 'http://127.0.0.1:5/back?x', 'http://localhost/back'];
  const refused = [
    ...['https://chat.example/back/', 'https://chat.example:8443/back', 'http://127.0.0.1:5/back'],
    ...['http://[::1]:5/back?x', 'http://localhost:5/', 'app:/back'],
  ];
  expect(accepted.filter((address) => !isListed(address, listed))).toEqual([]);
  expect(refused.filter((address) => isListed(address, listed))).toEqual([]);
});

test('hostOf shows a port only for a program on the person’s computer', () => {
  expect(hostOf('https://chat.example:8443/back')).toBe('chat.example');
  expect(hostOf('http://127.0.0.1:53123/back')).toBe('127.0.0.1:53123');
});

test('withParameters leaves out undefined values, and continues an existing query', () => {
  const parameters = { code: 'a b&c', state: undefined, iss: 'https://paint.example' };
  const query = 'code=a+b%26c&iss=https%3A%2F%2Fpaint.example';
  expect(withParameters('https://chat.example/back', parameters)).toBe(`https://chat.example/back?${query}`);
  expect(withParameters('https://chat.example/back?x=1', parameters)).toBe(`https://chat.example/back?x=1&${query}`);
});
