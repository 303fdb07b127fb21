/** The API reference in Markdown, made from the OpenAPI document: what it says is never said twice. */
import { pages, routes } from '../../routes.ts';
import { slug } from '../../site/markdown.ts';
import { curlOf } from './curl.ts';
import type { Body, OpenapiDocument, Operation } from './openapi-document.ts';
import { describeSchema, table, typeOf } from './schemas.ts';

/** A status and what `error` says with it. */
type ErrorRow = [string, string];

/** `address` is empty where it is the operator's to say: that of an event. */
type Call = { where: string; method: string; address: string; operation: Operation };

/** Takes the document; returns the body of the reference. */
export function referenceMarkdown(document: OpenapiDocument): string {
  const baseUrl = document.servers[0]?.url ?? '';
  const calls: Call[] = [
    ...Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        where: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        address: baseUrl + path,
        operation,
      })),
    ),
    ...Object.entries(document.webhooks).map(([type, { post }]) => ({
      where: `POST UPSTREAM_URL: ${type}`,
      method: 'POST',
      address: '',
      operation: post,
    })),
  ];
  const common = commonErrors(document);
  const tagged = document.tags.map((tag) => ({
    ...tag,
    calls: calls.filter(({ operation }) => operation.tags.includes(tag.name)),
  }));
  const groups = tagged.map(({ name, description, calls: own }) => [
    `## ${name}`,
    description,
    ...own.flatMap((call) => describeCall(call, common)),
  ]);
  const records = Object.entries(document.components.schemas).flatMap(([name, schema]) => [
    `### ${name}`,
    ...(schema.description === undefined ? [] : [schema.description]),
    describeSchema(schema),
  ]);
  return [
    `${document.info.description} The version is \`${document.info.version}\`, the base address \`${baseUrl}\`.`,
    `This page is made from [openapi.json](${routes.getOpenapiDocument.path}), which Postman, Bruno and code generators import. [For AI assistants](${pages.agents.path}) has the flow with commands to paste, [tools.json](${routes.toolIndex.path}) the definitions for language models.`,
    table(
      ['Call', 'What for'],
      tagged.flatMap(({ calls: own }) =>
        own.map(({ where, operation }) => [`\`${where}\``, linkTo(operation)]),
      ),
    ),
    ...groups.flat(),
    '## Errors that any call may answer',
    'They are not repeated at each call.',
    table(['Status', 'error'], common),
    '## Records',
    'What bodies and answers are made of. Unless something else is said, other properties may be added later.',
    ...records,
  ].join('\n\n');
}

function linkTo({ summary }: Operation): string {
  return `[${summary}](#${slug(summary)})`;
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

/** A command to paste and what it answers; of an event, what arrives. */
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
    .sort(([one], [other]) => rank(one) - rank(other))
    .map(([status, { description, content = {} }]) => {
      const [body] = Object.values(content);
      return [status, description, body === undefined ? '' : typeOf(body.schema)];
    });
  return [
    '**Answers:**',
    table(['Status', 'Meaning', 'Body'], rows),
    ...(particular.length === 0
      ? []
      : ['What `error` says:', table(['Status', 'error'], particular)]),
  ];
}

/** `4XX` after every other 4. */
function rank(status: string): number {
  return Number(status.replace('XX', '99'));
}

/** Every sentence that `error` may hold, with its status. */
function errorsOf(responses: Partial<Operation['responses']>): ErrorRow[] {
  return Object.entries(responses)
    .filter(([status]) => /^[45]/.test(status))
    .sort(([one], [other]) => rank(one) - rank(other))
    .flatMap(([status, response]) => {
      const examples = Object.values(response?.content?.['application/json']?.examples ?? {});
      const errors = examples.map(({ value }) => (value as { error: string }).error);
      return [...new Set(errors)].map((error): ErrorRow => [status, error]);
    });
}

/** What every call may answer. */
function commonErrors({ paths }: OpenapiDocument): ErrorRow[] {
  const [first = [], ...others] = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .map(({ responses }) => errorsOf(responses));
  return first.filter((row) => others.every((errors) => errors.some(isSame(row))));
}

function isSame([status, error]: ErrorRow): (row: ErrorRow) => boolean {
  return (row) => row[0] === status && row[1] === error;
}

function firstExample(body: Body | undefined): unknown {
  return Object.values(body?.examples ?? {})[0]?.value;
}

function fence(info: string, value: unknown): string {
  return `\`\`\`${info}\n${JSON.stringify(value, null, 2)}\n\`\`\``;
}
