/** Describes a failed start in one sentence with the remedy, and returns the exit status (reference §20.1). */
import { CredentialsFault } from '../credentials/file.ts';
import type { Settings } from '../settings/settings.ts';
import { ContentFault } from '../site/content-overrides.ts';
import { StorageUnavailable } from '../storage/database.ts';
import { StartFault } from './first-run.ts';

/** EX_CONFIG of sysexits.h: a setting is invalid (reference §20.1). */
export const EXIT_CONFIGURATION = 78;

const HOST_FAULT = 'HOST is not an address of this machine, so set HOST=127.0.0.1, or HOST=0.0.0.0 for all addresses.';
const FOLDER_REMEDY = 'DATA_DIR="$HOME/lead-intake" npm start';

/** Errors of listening that a wrong HOST causes. */
const HOST_CODES: readonly unknown[] = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'];

const SYSTEM_FAULTS: Readonly<Record<string, string>> = {
  EACCES: `The service can’t listen on this port or can’t write a folder, so set PORT above 1023, or set DATA_DIR to a folder that you own: ${FOLDER_REMEDY}`,
  EROFS: `The disk is read-only, so set DATA_DIR to a folder that you can write: ${FOLDER_REMEDY}`,
};

const NO_HOST = 'there is no such host. Correct the host in DATABASE_URL.';
const SILENT = 'the server does not answer. Check host and port in DATABASE_URL, and the network.';

const NO_TLS = /does not support SSL/;

/** Faults by the code of a system error, or by PostgreSQL's SQLSTATE. */
const POSTGRES_FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at this address. Start the server, or correct host and port in DATABASE_URL.',
  ENOTFOUND: NO_HOST,
  EAI_AGAIN: NO_HOST,
  ETIMEDOUT: SILENT,
  NO_TLS: 'the server has no TLS. Turn TLS on at the server, or remove sslmode from DATABASE_URL.',
  EHOSTUNREACH: SILENT,
  ENETUNREACH: SILENT,
  '3D000': 'there is no such database. Create the database, or correct its name in DATABASE_URL.',
  '42501':
    'this role may not use the tables. Let their owner grant all rights on the tables to this role, or set the owner in DATABASE_URL.',
  '28000': 'the role does not exist, or may not connect from this machine. Check the role in DATABASE_URL.',
  '28P01': 'the server refuses the password of this role. Correct the password in DATABASE_URL.',
};

/** Settings that a sentence may mention. */
type Configured = Pick<Settings, 'port' | 'metricsPort' | 'database'>;

/** Describes the fault. `settings` is undefined if the start failed before the settings were read. */
export function describeStartFault(error: unknown, settings?: Configured): { sentence: string; exitCode: number } {
  if (error instanceof CredentialsFault || error instanceof ContentFault) {
    return { sentence: error.message, exitCode: EXIT_CONFIGURATION };
  }
  if (error instanceof StartFault) return { sentence: error.message, exitCode: 1 };
  if (error instanceof StorageUnavailable) return { sentence: databaseFault(error, settings), exitCode: 1 };
  const { code, port, message } = error as NodeJS.ErrnoException & { port?: number };
  if (HOST_CODES.includes(code)) return { sentence: HOST_FAULT, exitCode: EXIT_CONFIGURATION };
  const sentence =
    code === 'EADDRINUSE'
      ? portFault(port, settings)
      : (SYSTEM_FAULTS[String(code)] ?? `The service could not start: ${message}`);
  return { sentence, exitCode: 1 };
}

/** Returns why the store could not be opened, in one sentence with the usual remedy. */
export function databaseFault(error: StorageUnavailable, settings: Pick<Settings, 'database'> | undefined): string {
  if (settings?.database.kind !== 'postgres') {
    return `The database can’t be used. ${error.message} Check DATABASE_URL, DATA_DIR and the disk.`;
  }
  const cause = (error.cause ?? { code: 'none' }) as { code?: string; message?: string };
  // The driver's own errors have no code. All these errors except the refused TLS are time-outs.
  const { code = NO_TLS.test(cause.message ?? '') ? 'NO_TLS' : 'ETIMEDOUT' } = cause;
  const fault = POSTGRES_FAULTS[code];
  if (fault === undefined) return `PostgreSQL can’t be used. ${error.message} Check DATABASE_URL.`;
  return `PostgreSQL can’t be used, because ${fault}`;
}

function portFault(taken = 0, settings: Configured | undefined): string {
  const variable = taken === settings?.metricsPort ? 'METRICS_PORT' : 'PORT';
  const used = [taken, settings?.port, settings?.metricsPort];
  const free = [taken + 1, taken + 2, taken + 3, 3000].find((port) => port <= 65_535 && !used.includes(port));
  return `Port ${taken} is already in use, so stop the other program, or set ${variable} to a free port: ${variable}=${free} npm start`;
}
