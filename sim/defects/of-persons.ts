/** Defects of the mail to persons and to the contractor, of erasures, and of sandbox clients. */
import type { Defect } from './defect.ts';

const PERSON = 'src/confirmations/person.ts';
const ACKNOWLEDGEMENT = 'src/intake/acknowledgement.ts';

export const defectsOfPersons: readonly Defect[] = [
  {
    name: 'a subscription is acknowledged',
    edits: [
      {
        file: ACKNOWLEDGEMENT,
        find: 'return isLead && email !== null ?',
        replace: 'return isLead !== undefined && email !== null ?',
      },
    ],
  },
  {
    name: 'an acknowledgement is queued after the commit',
    edits: [
      {
        file: 'src/submissions/attempts.ts',
        find: '    if (count > 0) await writeMessages(tx, messages);\n    return count;',
        replace:
          '    if (count > 0) void Promise.resolve().then(() => storage.write((later) => writeMessages(later, messages))).catch(() => {});\n    return count;',
      },
    ],
  },
  {
    // The simulator found this defect in the source.
    name: 'an execution that ends after an erasure queues messages',
    edits: [
      {
        file: 'src/actions/complete-execution.ts',
        find: 'if ((await row.executeTakeFirst()) !== undefined) await',
        replace: 'if (row !== undefined) await',
      },
    ],
  },
  {
    name: 'the contractor gets every lead',
    edits: [
      {
        file: 'src/notices/notices.ts',
        find: "receivers.contractor && receivedBy === 'contractor'",
        replace: 'receivers.contractor && receivedBy',
      },
    ],
  },
  {
    name: 'an erasure leaves the tests of agents',
    edits: [
      {
        file: 'src/submissions/erasure.ts',
        find: "  await tx.deleteFrom('sandbox_contents').where('email', '=', email).execute();\n",
        replace: '',
      },
    ],
  },
  {
    name: 'an erasure leaves pending confirmations',
    edits: [
      {
        file: PERSON,
        find: 'const confirmations = await eraseConfirmationsOf(tx, email, now);',
        replace: 'const confirmations = email === "" ? await eraseConfirmationsOf(tx, email, now) : 0;',
      },
    ],
  },
  {
    name: 'an erasure leaves the pages of sign-in links',
    edits: [
      {
        file: PERSON,
        find: "  await tx.updateTable('operator_links').set({ page: null }).where('page', 'is not', null).execute();\n",
        replace: '',
      },
    ],
  },
  {
    name: 'an erasure leaves the files of notices',
    edits: [{ file: 'src/mail/erasure.ts', find: '(?:to|reply-to)', replace: '(?:to)' }],
  },
  {
    name: 'an erasure leaves the files of incomplete messages',
    edits: [{ file: 'src/mail/erasure.ts', find: '(\\.part)?', replace: '' }],
  },
  {
    name: 'executions of a sandbox client are stored as real ones',
    edits: [
      {
        file: 'src/actions/execute.ts',
        find: '...parts.sandbox, isSandbox',
        replace: '...parts.sandbox, executions: (parts as never as typeof parts.sandbox).executions, isSandbox',
      },
    ],
  },
  {
    name: 'the console lists confirmations of sandbox clients',
    edits: [{ file: 'src/confirmations/confirmations.ts', find: "      .where('sandbox', '=', 0)\n", replace: '' }],
  },
];
