/** Types of the doctor's checks. A result is one sentence, with a remedy if the result is not good. */
import { statSync } from 'node:fs';
import type { Clock } from '../../platform/clock.ts';
import type { Settings } from '../../settings/settings.ts';

export type Result = {
  /** `off` means that the checked part is not configured, or was not tried. Only `failed` makes the doctor fail. */
  outcome: 'ok' | 'warning' | 'off' | 'failed';
  says: string;
  remedy?: string | undefined;
};

export type Finding = { check: string } & Result;

export type CheckContext = {
  settings: Settings;
  clock: Clock;
  /** False with `--no-send`, which sends no test event and no test message. */
  send: boolean;
  mailTo: string | undefined;
  /**
   * Time by which this machine's clock is ahead of the upstream's clock, in milliseconds. Undefined until the upstream
   * sends a time.
   */
  aheadMs?: number;
  /** The findings of the previous checks. */
  findings: Finding[];
};

export type Check = {
  check: string;
  /** Remedy for a failure whose result has no remedy. */
  remedy?: string | ((settings: Settings) => string);
  run(context: CheckContext): Result | Promise<Result>;
};

/** The usual cause of a failure, or a warning about a setting. */
export type Diagnosis = { says: string; remedy: string };

export const off = (says: string, remedy?: string): Result => ({ outcome: 'off', says, remedy });
export const failed = (says: string, remedy?: string): Result => ({ outcome: 'failed', says, remedy });
export const ok = (says: string, warnings: readonly Diagnosis[] = []) => warned({ outcome: 'ok', says }, warnings);

/** Adds warnings to a result. The result becomes a warning unless it failed. */
export function warned(result: Result, warnings: readonly Diagnosis[]): Result {
  if (result.outcome === 'failed' || warnings.length === 0) return result;
  const all = [result, ...warnings];
  return {
    outcome: 'warning',
    says: all.map(({ says }) => says).join(' '),
    remedy: all.flatMap(({ remedy }) => remedy ?? []).join(' '),
  };
}

/** Returns the finding of the first of these checks that failed, or undefined. */
export function failureOf(checks: readonly string[], findings: readonly Finding[]): Finding | undefined {
  return findings.find(({ check, outcome }) => checks.includes(check) && outcome === 'failed');
}

/** Returns false if there is no such file. Unlike `existsSync`, throws if the existence of the file is unknown. */
export function fileExists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
