/** Renders the API reference (`/reference` and its mirror) from the OpenAPI document. */
import { pages, routes } from '../../routes.ts';
import { defaultFrame, type Frame, headOf, renderLayout } from '../../site/layout.ts';
import { renderContents, renderDocument, slug } from '../../site/markdown.ts';
import { renderMirror } from '../../site/markdown-mirror.ts';
import type { SiteSettings } from '../../site/placeholders.ts';
import { renderTemplate } from '../../site/templates.ts';
import { curlOf, fence } from './commands.ts';
import { errorCodes, linkToCode } from './refusals.ts';
import { sandboxClients } from './sandbox.ts';
import { type Body, describeSchema, type OpenapiDocument, type Operation, table, typeOf } from './schemas.ts';
import { versionsAndChanges } from './versions.ts';

/** A status, a link to a code, and a value of `error`. */
type ErrorRow = [string, string, string];

/** A request to the service, or an event, whose `address` is empty because the operator chooses it. */
type Call = { where: string; method: string; address: string; operation: Operation };

/** Returns the page and its mirror in Markdown. */
export function renderReference(document: OpenapiDocument, settings: SiteSettings, frame: Frame) {
  const title = 'API reference';
  const description = 'Every call, what it takes, what it answers and every error it may give.';
  const { baseUrl, operator } = settings;
  const body = referenceMarkdown(document);
  const page = headOf({ ...pages.reference, title, description, lang: 'en' }, settings, frame);
  const { documentation: words } = defaultFrame().words;
  const { html, headings } = renderDocument(body, { words, links: true });
  const main = renderTemplate('page', {
    name: 'reference',
    title,
    description,
    actions: [],
    form: undefined,
    contents: renderContents(headings, words),
    prose: html,
  });
  const about = { title, operatorName: operator.name, noindex: false, lang: 'en' };
  return {
    noindex: false,
    html: renderLayout({ ...about, main, page, isPrepared: true }, frame),
    markdown: renderMirror({ title, description, body, form: undefined, baseUrl }),
  };
}

function referenceMarkdown(document: OpenapiDocument): string {
  const baseUrl = document.servers[0]?.url ?? '';
  const requests = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([name, operation]): Call => {
      const method = name.toUpperCase();
      return { where: `${method} ${path}`, method, address: baseUrl + path, operation };
    }),
  );
  const events = Object.entries(document.webhooks).map(([type, { post: operation }]): Call => {
    return { where: `POST UPSTREAM_URL: ${type}`, method: 'POST', address: '', operation };
  });
  const tagged = document.tags.map(({ name, description }) => {
    const calls = [...requests, ...events].filter(({ operation }) => operation.tags.includes(name));
    return { name, description, calls };
  });
  const common = commonErrors(requests);
  return [
    `${document.info.description} The version is \`${document.info.version}\`, the base address \`${baseUrl}\`.`,
    `This page is made from [openapi.json](${routes.getOpenapiDocument.path}), which Postman, Bruno and code generators import. [For AI assistants](${pages.agents.path}) has the flow with commands to paste.`,
    table(
      ['Call', 'What for'],
      tagged.flatMap(({ calls }) =>
        calls.map(({ where, operation: { summary } }) => [`\`${where}\``, `[${summary}](#${slug(summary)})`]),
      ),
    ),
    ...tagged.flatMap(({ name, description, calls }) => [
      `## ${name}`,
      description,
      ...calls.flatMap((call) => describeCall(call, common)),
    ]),
    '## Errors that any call may answer',
    'They are not repeated at each call.',
    table(['Status', 'Code', 'error'], common),
    ...errorCodes(baseUrl),
    ...sandboxClients(baseUrl),
    ...versionsAndChanges(),
    '## Records',
    'What bodies and answers are made of. Unless something else is said, other properties may be added later.',
    ...Object.entries(document.components.schemas).flatMap(([name, schema]) => [
      `### ${name}`,
      ...(schema.description === undefined ? [] : [schema.description]),
      describeSchema(schema),
    ]),
  ].join('\n\n');
}

function describeCall(call: Call, common: readonly ErrorRow[]): string[] {
  const { where, operation } = call;
  const scopes = operation.security.flatMap((needed) => Object.values(needed).flat());
  const credential =
    scopes.length === 0
      ? 'Takes no credential.'
      : `Takes a bearer credential with the ${scopes.map((scope) => `scope \`${scope}\``).join(' or ')}.`;
  return [
    `### ${operation.summary}`,
    `\`${where}\` · \`${operation.operationId}\``,
    `${operation.description} ${credential}`,
    ...describeExample(call),
    ...describeParameters(operation),
    ...describeRequest(operation),
    ...describeResponses(operation, common),
  ];
}

/** Returns a command to paste and its answer. For an event, returns the body that arrives. */
function describeExample({ method, address, operation }: Call): string[] {
  const body = firstExample(Object.values(operation.requestBody?.content ?? {})[0]);
  if (address === '') return body === undefined ? [] : [fence('json', body)];
  const answered = Object.entries(operation.responses).find(([status]) => /^2\d\d$/.test(status));
  const [status = '', response] = answered ?? [];
  const answer = firstExample(response?.content?.['application/json']);
  const command = `\`\`\`sh curl\n${curlOf(method, address, operation, body)}\n\`\`\``;
  return [answer === undefined ? command : `${command}\n${fence(`json answer ${status}`, answer)}`];
}

function describeParameters({ parameters = [] }: Operation): string[] {
  if (parameters.length === 0) return [];
  const rows = parameters.map(({ name, in: place, required, description, schema }) => [
    `\`${name}\``,
    place,
    required ? 'yes' : 'no',
    `${description} ${schema.enum === undefined ? '' : `${typeOf(schema)}.`}`,
  ]);
  return [table(['Parameter', 'In', 'Required', 'Meaning'], rows)];
}

function describeRequest({ requestBody }: Operation): string[] {
  const [body] = Object.values(requestBody?.content ?? {});
  if (requestBody === undefined || body === undefined) return [];
  const types = Object.keys(requestBody.content).map((type) => `\`${type}\``);
  return [`**Body:** ${typeOf(body.schema)}, as ${types.join(', ')}.`];
}

function describeResponses({ responses }: Operation, common: readonly ErrorRow[]): string[] {
  const particular = errorsOf(responses).filter((row) => !common.some(isSame(row)));
  const own = new Set(particular.map(([status]) => status));
  const rows = Object.entries(responses)
    .filter(([status]) => own.has(status) || errorsOf({ [status]: responses[status] }).length === 0)
    .sort(byStatus)
    .map(([status, { description, content = {} }]) => {
      const [body] = Object.values(content);
      return [status, description, body === undefined ? '' : typeOf(body.schema)];
    });
  return [
    '**Answers:**',
    table(['Status', 'Meaning', 'Body'], rows),
    ...(particular.length === 0 ? [] : ['What `error` says:', table(['Status', 'Code', 'error'], particular)]),
  ];
}

/** Compares two entries of `responses`. `4XX` comes after every other status that begins with 4. */
function byStatus([one]: [string, unknown], [other]: [string, unknown]): number {
  const rank = (status: string) => Number(status.replace('XX', '99'));
  return rank(one) - rank(other);
}

/** Returns every value that `error` may have, with its status and code. A replay has the code of the first answer. */
function errorsOf(responses: Partial<Operation['responses']>): ErrorRow[] {
  return Object.entries(responses)
    .filter(([status]) => /^[45]/.test(status))
    .sort(byStatus)
    .flatMap(([status, response]) => {
      const examples = Object.entries(response?.content?.['application/json']?.examples ?? {});
      return examples.flatMap(([name, { value }]): ErrorRow[] => {
        const code = linkToCode(name);
        return code === undefined ? [] : [[status, code, (value as { error: string }).error]];
      });
    });
}

/** Returns the errors that every call may return. */
function commonErrors(calls: readonly Call[]): ErrorRow[] {
  const [first = [], ...others] = calls.map(({ operation }) => errorsOf(operation.responses));
  return first.filter((row) => others.every((errors) => errors.some(isSame(row))));
}

function isSame([status, code]: ErrorRow): (row: ErrorRow) => boolean {
  return (row) => row[0] === status && row[1] === code;
}

function firstExample(body: Body | undefined): unknown {
  return Object.values(body?.examples ?? {})[0]?.value;
}
