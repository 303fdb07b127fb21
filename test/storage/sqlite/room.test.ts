import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { roomRequirer } from '../../../src/storage/sqlite/file.ts';
import { testClock } from '../../support/clock.ts';

test('claims of ten milliseconds share a look at the disk, and the next one looks again', () => {
  const folder = mkdtempSync(join(tmpdir(), 'room-'));
  const clock = testClock();
  const requireRoom = roomRequirer(join(folder, 'service.db'), clock);
  requireRoom();
  rmSync(folder, { recursive: true });
  clock.advance(9);
  requireRoom();
  clock.advance(1);
  expect(requireRoom).toThrow('ENOENT');
});
