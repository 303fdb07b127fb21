import type { LookupFunction } from 'node:net';
import { describe, expect, test } from 'vitest';
import { sharedLookup } from '../src/lookup.ts';

/** A server of names that answers when it is told to. */
function silentNames() {
  const asked: { name: string; tell: Parameters<LookupFunction>[2] }[] = [];
  const look: LookupFunction = (name, _options, tell) => void asked.push({ name, tell });
  return { asked, lookup: sharedLookup(look) };
}

describe('the name of another server', () => {
  test('is looked up once at a time, however many connections wait for it', () => {
    const { asked, lookup } = silentNames();
    const told: unknown[] = [];
    for (let each = 0; each < 30; each += 1) lookup('crm.example', {}, (...of) => told.push(of));
    expect([asked.length, told.length]).toEqual([1, 0]);
    asked[0]?.tell(null, '192.0.2.7', 4);
    expect(told).toEqual(Array.from({ length: 30 }, () => [null, '192.0.2.7', 4]));
  });

  test('is looked up anew afterwards, and an error is told to all who waited', () => {
    const { asked, lookup } = silentNames();
    const told: unknown[] = [];
    const gone = Object.assign(new Error('gone'), { code: 'ENOTFOUND' });
    for (let each = 0; each < 2; each += 1) lookup('crm.example', {}, (error) => told.push(error));
    asked[0]?.tell(gone, '');
    expect(told).toEqual([gone, gone]);
    lookup('crm.example', {}, () => {});
    expect(asked).toHaveLength(2);
  });

  test('that can’t even be asked for keeps nobody waiting', () => {
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

  test('asked for in another way, or another name, does not wait', () => {
    const { asked, lookup } = silentNames();
    lookup('crm.example', {}, () => {});
    lookup('crm.example', { all: true }, () => {});
    lookup('other.example', {}, () => {});
    expect(asked.map(({ name }) => name)).toEqual(['crm.example', 'crm.example', 'other.example']);
  });
});
