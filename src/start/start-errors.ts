/** Describes a failed start in one sentence with the remedy, and returns the exit status (reference §20.1). */
import { CredentialsFault } from '../credentials/file.ts';
import type { Settings } from '../settings/settings.ts';
import { ContentFault } from '../site/content-overrides.ts';
import { StorageUnavailable } from '../storage/database.ts';
import { StartFault } from './first-run.ts';

/** EX_CONFIG of sysexits.h: a setting is invalid (reference §20.1). */
export const EXIT_CONFIGURATION = 78;

const HOST_FAULT = 'HOST is no address of this machine; set HOST=127.0.0.1, or 0.0.0.0 for every address.';
const FOLDER_REMEDY = 'DATA_DIR="$HOME/lead-intake" npm start';

/** Errors of listening that a wrong HOST causes. */
const HOST_CODES: readonly unknown[] = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'];

const SYSTEM_FAULTS: Readonly<Record<string, string>> = {
  EACCES: `This address can’t be listened on, or a folder can’t be written; set PORT above 1023, or DATA_DIR to a folder of yours: ${FOLDER_REMEDY}`,
  EROFS: `The disk can’t be written; set DATA_DIR to a folder that can: ${FOLDER_REMEDY}`,
};

const NO_HOST = 'no such host is known: correct it in DATABASE_URL.';
const SILENT = 'the server does not answer: see to the host and port of DATABASE_URL, and the network.';

const NO_TLS = /does not support SSL/;

/** Faults by the code of a system error, or by PostgreSQL's SQLSTATE. */
const POSTGRES_FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: start it, or correct host and port in DATABASE_URL.',
  ENOTFOUND: NO_HOST,
  EAI_AGAIN: NO_HOST,
  ETIMEDOUT: SILENT,
  NO_TLS: 'the server has no TLS: turn it on there, or take sslmode out of DATABASE_URL.',
  EHOSTUNREACH: SILENT,
  ENETUNREACH: SILENT,
  '3D000': 'it has no such database: create it, or correct its name in DATABASE_URL.',
  '42501':
    'this role may not use these tables: let their owner grant it all rights on them, or name that role in DATABASE_URL.',
  '28000': 'it knows no such role, or lets it in from nowhere here: see to the role of DATABASE_URL.',
  '28P01': 'it refuses the password of this role: correct it in DATABASE_URL.',
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
    return `The database can’t be used: ${error.message} Check DATABASE_URL, DATA_DIR and the disk.`;
  }
  const cause = (error.cause ?? { code: 'none' }) as { code?: string; message?: string };
  // The driver's own errors have no code. All these errors except the refused TLS are time-outs.
  const { code = NO_TLS.test(cause.message ?? '') ? 'NO_TLS' : 'ETIMEDOUT' } = cause;
  const fault = POSTGRES_FAULTS[code] ?? `${error.message} Check DATABASE_URL.`;
  return `PostgreSQL can’t be used: ${fault}`;
}

function portFault(taken = 0, settings: Configured | undefined): string {
  const variable = taken === settings?.metricsPort ? 'METRICS_PORT' : 'PORT';
  const used = [taken, settings?.port, settings?.metricsPort];
  const free = [taken + 1, taken + 2, taken + 3, 3000].find((port) => port <= 65_535 && !used.includes(port));
  return `Port ${taken} is taken by another program; stop that one, or set ${variable} to a free one: ${variable}=${free} npm start`;
}
