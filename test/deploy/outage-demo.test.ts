/** Runs `npm run demo -- outage` and compares its output with a record. The first redelivery comes after a minute. */
import { expect, test } from 'vitest';
import { runService } from '../commands/run-service.ts';

/** Replaces each port, and each reference by its number, so that every run prints the same. */
function plain(text: string): string {
  const references = [...new Set(text.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g))];
  return references.reduce(
    (rest, reference, at) => rest.replaceAll(reference, `number ${at + 1}`),
    text.replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT'),
  );
}

test('demo outage sends every lead once after the outage, and prints each step as recorded', async () => {
  const { status, stdout, stderr } = await runService(['demo', 'outage']);
  expect([status, stderr]).toEqual([0, '']);
  await expect(plain(stdout)).toMatchFileSnapshot('outage-demo.txt');
}, 150_000);
