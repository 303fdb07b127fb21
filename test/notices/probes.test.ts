/** Each step of the probes of disk and database (reference §11.6). */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type DiskSpace, diskSpaceOf, openDiskProbe, openStoreProbe } from '../../src/notices/probes.ts';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { testClock } from '../support/clock.ts';

test('the disk is low until there is twice as much space, and the end is told once', async () => {
  let space: DiskSpace | undefined;
  const probe = openDiskProbe(async () => space);
  const at = async (freeBytes: number) => {
    space = { freeBytes, wholeBytes: 1e12 };
    return await probe();
  };
  // An earlier process may have found the disk low, so the first probe tells an end.
  expect([await at(2e9), await at(2e9), await at(1.5e9)]).toEqual(['end', 'nothing', 'nothing']);
  expect([await at(9e8), await at(9e8)]).toEqual(['fault', 'fault']);
  expect([await at(1.5e9), await at(2e9), await at(2e9)]).toEqual(['nothing', 'end', 'nothing']);
  await at(9e8);
  space = undefined;
  expect([await probe(), await probe()]).toEqual(['end', 'nothing']);
});

test('an outage is one fault, and ends after a minute without another', async () => {
  const clock = testClock();
  let fault: Error | undefined;
  const check = async () => {
    if (fault !== undefined) throw fault;
  };
  const { probe, wasUnavailable } = openStoreProbe({ check }, clock);
  const later = async (seconds: number) => {
    clock.advance(seconds * 1_000);
    return await probe();
  };
  expect([await later(59), await later(1), await later(60)]).toEqual(['nothing', 'end', 'nothing']);
  fault = new StorageUnavailable('away');
  expect([await later(1), await later(1)]).toEqual(['unavailable', 'unavailable']);
  fault = undefined;
  expect([await later(1), await later(59), await later(1)]).toEqual(['fault', 'nothing', 'end']);
  wasUnavailable();
  expect([await later(1), await later(60), await later(60)]).toEqual(['fault', 'end', 'nothing']);
  fault = new Error('unexpected');
  await expect(probe()).rejects.toThrow('unexpected');
});

test('diskSpaceOf returns undefined without the folder, and throws any other error', async () => {
  expect(await diskSpaceOf(join(import.meta.dirname, 'missing'))).toBeUndefined();
  const { freeBytes = 0, wholeBytes = 0 } = (await diskSpaceOf(import.meta.dirname)) ?? {};
  expect(freeBytes).toBeGreaterThan(1_000_000);
  expect(wholeBytes).toBeGreaterThanOrEqual(freeBytes);
  await expect(diskSpaceOf(join(import.meta.filename, 'x'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});
