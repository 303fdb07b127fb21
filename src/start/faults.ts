/** Why a start failed, in one sentence with the remedy, and the exit status (contract §1). */
import { CredentialsFault } from '../credentials/file.ts';
import type { Settings } from '../settings/settings.ts';
import { ContentFault } from '../site/overlay.ts';
import { StorageUnavailable } from '../storage/database.ts';
import { EXIT_CONFIGURATION } from './exit-status.ts';
import { StartFault } from './first-run.ts';

const HOST_FAULT =
  'HOST is no address of this machine; set HOST=127.0.0.1, or 0.0.0.0 for every address.';
const FOLDER_REMEDY = 'DATA_DIR="$HOME/lead-intake" npm start';

/** What only listening could tell of a bad HOST. */
const HOST_CODES: readonly unknown[] = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'];

const SYSTEM_FAULTS: Readonly<Record<string, string>> = {
  EACCES: `This address can’t be listened on, or a folder can’t be written; set PORT above 1023, or DATA_DIR to a folder of yours: ${FOLDER_REMEDY}`,
  EROFS: `The disk can’t be written; set DATA_DIR to a folder that can: ${FOLDER_REMEDY}`,
};

const NO_HOST = 'no such host is known: correct it in DATABASE_URL.';
const SILENT =
  'the server does not answer: see to the host and port of DATABASE_URL, and the network.';

const NO_TLS = /does not support SSL/;

/** By the code of a system error, or by PostgreSQL's SQLSTATE. */
const POSTGRES_FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: start it, or correct host and port in DATABASE_URL.',
  ENOTFOUND: NO_HOST,
  EAI_AGAIN: NO_HOST,
  ETIMEDOUT: SILENT,
  NO_TLS: 'the server has no TLS: turn it on there, or take sslmode out of DATABASE_URL.',
  EHOSTUNREACH: SILENT,
  ENETUNREACH: SILENT,
  '3D000': 'it has no such database: create it, or correct its name in DATABASE_URL.',
  '28000':
    'it knows no such role, or lets it in from nowhere here: see to the role of DATABASE_URL.',
  '28P01': 'it refuses the password of this role: correct it in DATABASE_URL.',
};

/** What a fault at the start is told with: where it happened. */
type Configured = Pick<Settings, 'port' | 'metricsPort' | 'database'>;

/** Never a stack trace. Without settings: what failed came before they were read. */
export function describeStartFault(
  error: unknown,
  settings?: Configured,
): { sentence: string; exitCode: number } {
  if (error instanceof CredentialsFault || error instanceof ContentFault) {
    return { sentence: error.message, exitCode: EXIT_CONFIGURATION };
  }
  if (error instanceof StartFault) return { sentence: error.message, exitCode: 1 };
  if (error instanceof StorageUnavailable) {
    return { sentence: databaseFault(error, settings), exitCode: 1 };
  }
  const { code, port, message } = error as NodeJS.ErrnoException & { port?: number };
  if (HOST_CODES.includes(code)) return { sentence: HOST_FAULT, exitCode: EXIT_CONFIGURATION };
  const sentence =
    code === 'EADDRINUSE'
      ? portFault(port, settings)
      : (SYSTEM_FAULTS[String(code)] ?? `The service could not start: ${message}`);
  return { sentence, exitCode: 1 };
}

function databaseFault(error: StorageUnavailable, settings: Configured | undefined): string {
  if (settings?.database.kind !== 'postgres') {
    return `The database can’t be used: ${error.message} Check DATABASE_URL, DATA_DIR and the disk.`;
  }
  const cause = (error.cause ?? { code: 'none' }) as { code?: string; message?: string };
  // Of the driver's own errors, which have no code, all but this are time-outs.
  const { code = NO_TLS.test(cause.message ?? '') ? 'NO_TLS' : 'ETIMEDOUT' } = cause;
  const fault = POSTGRES_FAULTS[code] ?? `${error.message} Check DATABASE_URL.`;
  return `PostgreSQL can’t be used: ${fault}`;
}

function portFault(taken = 0, settings: Configured | undefined): string {
  const variable = taken === settings?.metricsPort ? 'METRICS_PORT' : 'PORT';
  const used = [taken, settings?.port, settings?.metricsPort];
  const free = [taken + 1, taken + 2, taken + 3, 3000].find(
    (port) => port <= 65_535 && !used.includes(port),
  );
  return `Port ${taken} is taken by another program; stop that one, or set ${variable} to a free one: ${variable}=${free} npm start`;
}
