/** Prepares local mode in a folder at a given time, and prints what the service would use. */
import { readFileSync } from 'node:fs';
import { systemClock } from '../../src/platform/clock.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { prepareLocalMode } from '../../src/start/first-run.ts';

const [dataDir = '', at = ''] = process.argv.slice(2);
const read = readSettings({ DATA_DIR: dataDir });
if (read.kind === 'invalid') throw new Error(read.faults.join('\n'));
// A timer would end up to a millisecond late, which is longer than the race.
while (Date.now() < Number(at));
const {
  previewSigningKeys,
  receiptKeys,
  tokenFile = '',
  firstRun,
} = await prepareLocalMode(read.settings, systemClock);
const token = readFileSync(tokenFile, 'utf8');
const [key] = previewSigningKeys;
console.log(JSON.stringify({ key: key?.toString('base64'), kid: receiptKeys.signing?.kid, token, firstRun }));
