import type { LookupFunction } from 'node:net';
import { describe, expect, test } from 'vitest';
import { sharedLookup } from '../../src/platform/dns-lookup.ts';

/** Returns a lookup that answers on demand. */
function silentNames() {
  const asked: { name: string; tell: Parameters<LookupFunction>[2] }[] = [];
  const look: LookupFunction = (name, _options, tell) => void asked.push({ name, tell });
  return { asked, lookup: sharedLookup(look) };
}

describe('sharedLookup', () => {
  test('looks a name up once for 30 concurrent connections', () => {
    const { asked, lookup } = silentNames();
    const told: unknown[] = [];
    for (let each = 0; each < 30; each += 1) lookup('crm.example', {}, (...of) => told.push(of));
    expect([asked.length, told.length]).toEqual([1, 0]);
    asked[0]?.tell(null, '192.0.2.7', 4);
    expect(told).toEqual(Array.from({ length: 30 }, () => [null, '192.0.2.7', 4]));
  });

  test('passes an error to all waiting connections, and looks the name up again for the next connection', () => {
    const { asked, lookup } = silentNames();
    const told: unknown[] = [];
    const gone = Object.assign(new Error('gone'), { code: 'ENOTFOUND' });
    for (let each = 0; each < 2; each += 1) lookup('crm.example', {}, (error) => told.push(error));
    asked[0]?.tell(gone, '');
    expect(told).toEqual([gone, gone]);
    lookup('crm.example', {}, () => {});
    expect(asked).toHaveLength(2);
  });

  test('throws for each connection if the lookup itself throws', () => {
    const broken = new TypeError('no such option');
    let asked = 0;
    const lookup = sharedLookup(() => {
      asked += 1;
      throw broken;
    });
    for (let each = 0; each < 2; each += 1) {
      expect(() => lookup('crm.example', {}, () => {})).toThrow(broken);
    }
    expect(asked).toBe(2);
  });

  test('makes separate lookups for different names or options', () => {
    const { asked, lookup } = silentNames();
    lookup('crm.example', {}, () => {});
    lookup('crm.example', { all: true }, () => {});
    lookup('other.example', {}, () => {});
    expect(asked.map(({ name }) => name)).toEqual(['crm.example', 'crm.example', 'other.example']);
  });
});
