/** Runs the command of each call in the reference, as a reader copies it from the Markdown mirror. */
import { spawn } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { curlOf } from '../../src/discovery/reference/commands.ts';
import { call, executeAction } from '../support/agent.ts';
import { ranToTheEnd } from '../support/ran.ts';
import { type Service, startService, tokens } from '../support/service.ts';

let service: Service;
let markdown: string;
beforeAll(async () => {
  service = await startService();
  markdown = (await call(service, '/reference.md', { method: 'GET' })).text;
});
afterAll(() => service.close());

/** Returns the section of a call. */
const sectionOf = (summary: string) =>
  markdown.split(/^### /m).find((section) => section.startsWith(`${summary}\n`)) ?? '';
const blockIn = (section: string, info: string) =>
  new RegExp(`^\`\`\`${info}\n([\\s\\S]*?)^\`\`\``, 'm').exec(section)?.[1] ?? '';

/** Replaces each value with its type, at any depth. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shapeOf(each)]));
}

async function run(command: string, token: string = tokens.both): Promise<{ status: number; body: string }> {
  // The answer ends with a line break, so that the prompt begins on a line of its own.
  expect(command).toMatch(/^curl -sS -w '\\n' /);
  const written = command.replace(`-w '\\n'`, `-w '\\n%{http_code}'`);
  const child = spawn('sh', ['-c', written], {
    env: { PATH: process.env.PATH ?? '', TOKEN: token },
  });
  const { stdout, stderr, status } = await ranToTheEnd(child);
  expect([status, stderr]).toEqual([0, '']);
  const at = stdout.lastIndexOf('\n');
  return { status: Number(stdout.slice(at + 1)), body: stdout.slice(0, at) };
}

// Commands with an id that does not exist are refused only for that, after all other checks.
test.concurrent.each([
  ['Preview an action', 200, undefined],
  ['Execute a confirmed action', 400, /preview/i],
  ['Ask the person to confirm on a page', 400, /preview/i],
  ['Get what became of a confirmation', 404, /confirmation/i],
  ['Cancel a pending confirmation', 404, /confirmation/i],
  ['Get the signed receipt of an execution', 404, /receipt/i],
  ['Submit a form from a browser', 200, undefined],
  ['Subscribe from a browser', 200, undefined],
  ['Get the manifest at its well-known address', 200, undefined],
  ['Get the agent manifest', 200, undefined],
  ['Get llms.txt', 200, undefined],
  ['List the content, or get one resource', 200, undefined],
  ['Get the keys that receipts are verified with', 200, undefined],
  ['Get this document', 200, undefined],
])('/reference, %s: the curl command gets status %i', async (summary, status, error) => {
  const section = sectionOf(summary);
  const answered = await run(blockIn(section, 'sh curl'));
  expect([answered.status, answered.body]).toEqual([status, expect.stringMatching(error ?? /./)]);
  const shown = blockIn(section, 'json answer 200');
  if (status === 200 && shown !== '') {
    expect(shapeOf(JSON.parse(answered.body))).toEqual(shapeOf(JSON.parse(shown)));
  }
});

test('/reference shows a curl command for every call, and an example of every JSON answer', () => {
  const calls = markdown.match(/^`(GET|POST|DELETE) \//gm) ?? [];
  expect(calls.length).toBe(14);
  expect(markdown.match(/^```sh curl$/gm)).toHaveLength(calls.length);
  expect(markdown.match(/^```json answer 20[01]$/gm)).toHaveLength(8);
  expect(blockIn(sectionOf('Receive lead.created'), 'json')).toContain('"lead.created"');
});

test('/reference, Sandbox: its only command gets a preview with a sandbox token, and its execution is 422', async () => {
  const [, section = ''] = markdown.split('\n## Sandbox\n');
  const [own = ''] = section.split('\n## ', 1);
  expect(own.match(/^```/gm)).toHaveLength(2);
  const { status, body } = await run(blockIn(own, 'sh'), tokens.sandbox);
  expect(status).toBe(200);
  const executed = await executeAction(service, JSON.parse(body).preview_id, { token: tokens.sandbox });
  expect([executed.status, executed.headers.get('sandbox')]).toEqual([422, 'true']);
});

test('curlOf escapes an apostrophe in a value for the shell', () => {
  const operation = { parameters: [], security: [] } as unknown as Parameters<typeof curlOf>[2];
  const body = { message: `It's "$(id)" \`id\`` };
  const command = curlOf('POST', 'https://paint.example/api/leads', operation, body);
  expect(command).toContain(`-d '{\n  "message": "It'\\''s \\"$(id)\\" \`id\`"\n}'`);
});
