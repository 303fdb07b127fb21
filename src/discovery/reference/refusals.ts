/** The section of the API reference about error codes, from the failure catalogue (reference §18.5). */
import { type Problem, problems } from '../../failures/catalogue.ts';
import { anchorOf, codeOf } from '../../failures/codes.ts';
import { connectProblems } from '../../failures/oauth-problems.ts';
import { consoleProblems, newsletterProblems, pressProblems } from '../../failures/page-problems.ts';
import type { Refusal } from '../../failures/refusals.ts';
import { PROBLEM_TYPE, problemDetails, renderProblem } from '../../failures/render.ts';
import { pages, pathTo, routes } from '../../routes.ts';
import { headers } from '../openapi/responses.ts';
import { fence, NEW_LINE } from './commands.ts';
import { table } from './schemas.ts';

/** Refusals that only pages show, never a program. */
const onPages = { ...pressProblems, ...consoleProblems, ...newsletterProblems, ...connectProblems };

const TOOLS: ReadonlySet<string> = new Set(['mcp', 'handOff', 'connect']);

/** The next step after a refusal whose sentence has none, by status. */
const GENERAL: Readonly<Record<number, string>> = {
  400: 'Correct the request. The same request gets the same answer.',
  401: 'Send the name of your client as `client_id`, and its token as `client_secret`.',
  403: 'Ask the operator to list your origin.',
  404: 'Check the address, and the id in it.',
  405: 'Use one of the methods in `Allow`.',
  408: 'Send the request again.',
  413: 'Send a shorter body.',
  431: 'Send shorter headers.',
  500: 'Send the same request again, with any `Idempotency-Key`. If it fails again, tell the operator the request id.',
  502: 'Tell the person what the sentence says.',
  503: 'Send the same request again later.',
};

/** Returns the code of an example in OpenAPI as a link to its row, or undefined if it is no refusal of the catalogue. */
export function linkToCode(kind: string): string | undefined {
  if (!Object.hasOwn(problems, kind)) return undefined;
  const code = codeOf(kind as Refusal['kind']);
  return `[\`${code}\`](#${anchorOf(code)})`;
}

/** Returns the section with a row for each refusal that a program can get. The first cell of a row links to the row. */
export function errorCodes(baseUrl: string): string[] {
  const shown = Object.entries<Problem>(problems).filter(([kind]) => !Object.hasOwn(onPages, kind));
  const address = baseUrl + pathTo(routes.getReceipt, { action_id: headers['X-Request-Id'].example });
  const requestId = headers['X-Request-Id'].example;
  const example = renderProblem({ kind: 'unauthenticated', credentialSent: false }, 'agent');
  return [
    '## Error codes',
    `Without more, an error is \`{"error": "…"}\` with a sentence. If \`Accept\` names \`${PROBLEM_TYPE}\`, it is a problem of RFC 9457 with a \`code\`. This holds for the calls under Actions, and for those under Forms if the answer is JSON. A code never changes its meaning, but a sentence may change its words.`,
    `\`\`\`sh\ncurl -sS ${NEW_LINE} ${address} \\\n  -H 'Accept: ${PROBLEM_TYPE}'\n\`\`\`\n${fence(`json answer ${example.status}`, problemDetails(example, { baseUrl, requestId }))}`,
    `Each answer has an \`X-Request-Id\`, and \`request_id\` has the same value. If you need help, give this value to [the operator](${pages.contact.path}). A preview names the fields that it does not know in the header \`Ignored-Fields\`.`,
    table(
      ['Code', 'Status', 'What happened', 'What to do'],
      shown.map(([kind, problem]) => [
        linkToCode(kind) ?? '',
        statusOf(kind, problem),
        withWait(problem.sentence),
        withWait(nextStepOf(problem)),
      ]),
    ),
  ];
}

function statusOf(kind: string, { status }: Problem): string {
  if (kind === 'valueTooLong') return '400'; // 413 only in a native form (reference §4.6)
  return status === 0 ? 'other 4xx' : String(status);
}

function nextStepOf({ next, operations, status }: Problem): string {
  const isOfTools = operations !== 'any' && operations.length > 0 && operations.every((name) => TOOLS.has(name));
  return (isOfTools ? next.tool : next.route) ?? GENERAL[status] ?? next.tool ?? '';
}

function withWait(text: string): string {
  return text.replace('{wait}', 'as long as `Retry-After` says');
}
