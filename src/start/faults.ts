/** Why a start failed, in one sentence with the remedy, and the exit status (contract §1). */
import { CredentialsFault } from '../credentials/file.ts';
import { ContentFault } from '../site/overlay.ts';
import { StorageUnavailable } from '../storage/database.ts';
import { EXIT_CONFIGURATION } from './exit-status.ts';
import { StartFault } from './first-run.ts';

const HOST_FAULT =
  'HOST is no address of this machine; set HOST=127.0.0.1, or 0.0.0.0 for every address.';
const FOLDER_REMEDY = 'DATA_DIR="$HOME/lead-intake" npm start';

/** A bad value that only listening could tell. */
const CONFIGURATION_FAULTS: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: HOST_FAULT,
  ENOTFOUND: HOST_FAULT,
  EAI_AGAIN: HOST_FAULT,
};

const SYSTEM_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'The port is taken by another program; stop that one, or set PORT (METRICS_PORT, if it is that one) to a free one: PORT=3001 npm start',
  EACCES: `This address can’t be listened on, or a folder can’t be written; set PORT above 1023, or DATA_DIR to a folder of yours: ${FOLDER_REMEDY}`,
  EROFS: `The disk can’t be written; set DATA_DIR to a folder that can: ${FOLDER_REMEDY}`,
};

/** Takes whatever ended the start; returns what a person is told, never a stack trace. */
export function describeStartFault(error: unknown): { sentence: string; exitCode: number } {
  if (error instanceof CredentialsFault || error instanceof ContentFault) {
    return { sentence: error.message, exitCode: EXIT_CONFIGURATION };
  }
  if (error instanceof StartFault) return { sentence: error.message, exitCode: 1 };
  if (error instanceof StorageUnavailable) {
    const sentence = `The database can’t be used: ${error.message} Check DATABASE_URL, DATA_DIR and the disk.`;
    return { sentence, exitCode: 1 };
  }
  const code = String((error as NodeJS.ErrnoException).code);
  const bad = CONFIGURATION_FAULTS[code];
  if (bad !== undefined) return { sentence: bad, exitCode: EXIT_CONFIGURATION };
  const sentence =
    SYSTEM_FAULTS[code] ?? `The service could not start: ${(error as Error).message}`;
  return { sentence, exitCode: 1 };
}
