/** The section of the API reference about versions and changes (reference §1.5). */
import { routes } from '../../routes.ts';
import { API_VERSION } from '../deployment.ts';
import { table } from './schemas.ts';

/** Changes that a client can notice, newest first. A new row goes to the top. */
const CHANGES: readonly (readonly [date: string, change: string])[] = [
  ['2026-11-26', `Hosts connect to the tools with OAuth, at \`${routes.connect.path}\`.`],
  ['2026-11-26', 'Sandbox clients send nothing ([Sandbox](#sandbox)).'],
  ['2026-11-26', 'Errors have a code on request ([Error codes](#error-codes)).'],
  ['2026-11-26', 'A preview names the fields that it ignores in `Ignored-Fields`.'],
  ['2026-09-01', 'First version.'],
];

/** Returns the section. */
export function versionsAndChanges(): string[] {
  return [
    '## Versions and changes',
    `The version of this API is \`${API_VERSION}\`. The [manifest](${routes.getManifest.path}) and [openapi.json](${routes.getOpenapiDocument.path}) name it. No request selects a version.`,
    [
      '- **The version stays the same** if something is added: a call, an optional field, a member of an answer, a header, a code, a tool. The words of a sentence may change too. So your program must ignore members that it does not know, and must not compare sentences.',
      '- **The version changes** if something is removed, gets another name, type or meaning, or if a field becomes required. Your program can compare `version` in the manifest with the version that you built it for.',
    ].join('\n'),
    table(
      ['Date', 'Change'],
      CHANGES.map(([date, change]) => [date, change]),
    ),
  ];
}
