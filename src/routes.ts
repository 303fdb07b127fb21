/**
 * Every route of the service: plain data that whoever registers, refuses, describes or links a path reads.
 * No path stands anywhere else in `src` (`test/routes.test.ts`). A new endpoint is a row here and a handler.
 */

import { type DocumentedGroup, type Group, inGroup, type Route } from './route-groups.ts';

const actions = inGroup('actions');
const forms = inGroup('forms');
const discovery = inGroup('discovery');
const definitions = inGroup('definitions');
const tools = inGroup('tools');
const site = inGroup('pages');
const press = inGroup('press');
const signIn = inGroup('signIn');
const operator = inGroup('console');
const files = inGroup('files');
const health = inGroup('health');
const metrics = inGroup('metrics');

/** By name: that of a documented route is its `operationId`; OpenAPI lists them in this order. */
export const routes = {
  previewAction: actions.post(
    '/api/agent/actions/:action/preview',
    'spec §4.3',
    'Preview an action',
  ),
  executeAction: actions.post(
    '/api/agent/actions/:action/execute',
    'spec §4.4',
    'Execute a confirmed action',
  ),
  createConfirmation: actions.post(
    '/api/agent/confirmations',
    'beyond §4',
    'Ask the person to confirm on a page',
  ),
  getConfirmation: actions.get(
    '/api/agent/confirmations/:id',
    'beyond §4',
    'Get what became of a confirmation',
  ),
  cancelConfirmation: actions.delete(
    '/api/agent/confirmations/:id',
    'beyond §4',
    'Cancel a pending confirmation',
  ),
  getReceipt: actions.get(
    '/api/agent/receipts/:action_id',
    'beyond §5',
    'Get the signed receipt of an execution',
  ),

  submitLead: forms.post('/api/leads', 'spec §4.6', 'Submit a form from a browser'),
  subscribeNewsletter: forms.post('/api/subscribe', 'spec §4.7', 'Subscribe from a browser'),

  getWellKnownManifest: discovery.get(
    '/.well-known/service-agent.json',
    'spec §4.1',
    'Get the manifest at its well-known address',
  ),
  getManifest: discovery.get('/api/agent/manifest', 'spec §4.1', 'Get the agent manifest'),
  getLlmsText: discovery.get('/llms.txt', 'spec §4.2', 'Get llms.txt'),
  listContent: discovery.get(
    '/api/agent/content',
    'spec §4.2',
    'List the content, or get one resource',
  ),
  getReceiptKeys: discovery.get(
    '/.well-known/jwks.json',
    'beyond §5',
    'Get the keys that receipts are verified with',
  ),
  getOpenapiDocument: discovery.get('/openapi.json', 'spec §9', 'Get this document'),

  eventSchema: definitions.get('/schemas/:type.json', 'contract §3', 'The schema of an event'),
  toolIndex: definitions.get('/agents/tools.json', 'ours', 'Where the tool definitions are'),
  toolShape: definitions.get(
    '/agents/tools/:shape.json',
    'ours',
    'The tools as one API takes them',
  ),

  getAgentsDocument: definitions.get(
    '/agents/openapi.json',
    'beyond §8',
    'OpenAPI of the agent actions alone, a path for each',
  ),
  apiCatalog: definitions.get('/.well-known/api-catalog', 'beyond §8', 'RFC 9727'),
  aiCatalog: definitions.get(
    '/.well-known/ai-catalog.json',
    'beyond §8',
    'Where the card of the tools is; where MCP is on',
  ),
  serverCard: definitions.get(
    '/mcp/server-card',
    'beyond §8',
    'The card of the tools; where MCP is on',
  ),
  skillsIndex: definitions.get(
    '/.well-known/agent-skills/index.json',
    'beyond §8',
    'The skills that an agent can read',
  ),
  skill: definitions.get('/.well-known/agent-skills/:skill/SKILL.md', 'beyond §8', 'One of them'),

  mcp: tools.post('/mcp', 'beyond §3', 'The tools, by the Model Context Protocol'),

  confirmationPage: press.get('/confirm/:secret', 'beyond §4', 'What one person is asked'),
  pressConfirmation: press.post('/confirm/:secret', 'beyond §4', 'The buttons of that page'),

  signInPage: signIn.get('/operator/sign-in/:token', 'beyond §7', 'The button of any link'),
  signIn: signIn.post('/operator/sign-in/:token', 'beyond §7', 'That button'),
  operatorStylesheet: signIn.get('/assets/operator.css', 'ours', 'The rules of those pages alone'),
  operatorPage: operator.get('/operator', 'beyond §7', 'What needs attention, or how to sign in'),
  signOut: operator.post('/operator', 'beyond §7', 'Sign out, sign out everywhere'),
  operatorLeads: operator.get('/operator/leads', 'beyond §7', 'The leads, newest first'),
  operatorLeadsCsv: operator.get('/operator/leads.csv', 'beyond §7', 'The same as CSV'),
  operatorLeadsJsonl: operator.get('/operator/leads.jsonl', 'beyond §7', 'The same as JSON lines'),
  operatorLead: operator.get('/operator/leads/:id', 'beyond §7', 'One lead'),
  changeLead: operator.post('/operator/leads/:id', 'beyond §7', 'Resend, dismiss, spam'),
  operatorPerson: operator.get('/operator/people/:id', 'beyond §7', 'Everything about one person'),
  changePerson: operator.post('/operator/people/:id', 'beyond §7', 'Delete it'),
  operatorAgents: operator.get('/operator/agents', 'beyond §7', 'Clients and their credentials'),
  operatorConfirmations: operator.get('/operator/confirmations', 'beyond §7', 'What was asked'),
  operatorSubscribers: operator.get('/operator/subscribers', 'beyond §7', 'The subscribers'),
  operatorMessages: operator.get('/operator/messages', 'beyond §7', 'Messages and dead ones'),
  changeMessage: operator.post('/operator/messages', 'beyond §7', 'Resend one'),
  operatorAudit: operator.get('/operator/audit', 'beyond §7', 'Who did what'),
  newsletterPage: press.get(
    '/newsletter/confirm/:token',
    'beyond §6',
    'Where a subscriber confirms',
  ),
  confirmSubscription: press.post('/newsletter/confirm/:token', 'beyond §6', 'Its button'),
  leavePage: press.get('/newsletter/leave/:token', 'beyond §6', 'Where a subscriber leaves'),
  leaveNewsletter: press.post('/newsletter/leave/:token', 'beyond §6', 'Its button, and RFC 8058'),

  startPage: site.get('/', 'contract §4', 'The page that `content/index.md` holds'),
  page: site.get('/:page', 'contract §4', 'A page, for each other file of `content/`'),
  mirror: site.get('/:page.md', 'spec §4.2', 'The mirror of a page in Markdown'),
  reference: site.get('/reference', 'ours', 'The page made from the OpenAPI document'),
  referenceMirror: site.get('/reference.md', 'ours', 'Its mirror in Markdown'),

  asset: files.get('/assets/:file', 'ours', 'A file under a name that changes with its content'),
  sitemap: files.get('/sitemap.xml', 'ours', 'The pages that search engines may list'),
  robots: files.get('/robots.txt', 'ours', 'Where the sitemap is'),
  favicon: files.get('/favicon.ico', 'ours', 'Leads to the icon'),
  securityContact: files.get(
    '/.well-known/security.txt',
    'ours',
    'RFC 9116; where a contact is set',
  ),

  liveness: health.get('/healthz', 'ours', 'Whether the process answers'),
  readiness: health.get('/readyz', 'ours', 'Whether it can keep what it is given'),

  metrics: metrics.get('/metrics', 'ours', 'What Prometheus reads, where METRICS_PORT is set'),
} satisfies Record<string, Route>;

export type RouteName = keyof typeof routes;

/** Those behind a session, by name (beyond §7). */
export type ConsoleRoute = {
  [Name in RouteName]: (typeof routes)[Name]['group'] extends 'console' ? Name : never;
}[RouteName];

/** The documented routes, by name. */
export type OperationId = {
  [Name in RouteName]: (typeof routes)[Name]['group'] extends DocumentedGroup ? Name : never;
}[RouteName];

/** What stands below these is for machines, also where it is nothing. */
export const folders = {
  api: '/api/',
  discovery: [
    '/.well-known/',
    '/schemas/',
    '/agents/tools',
    '/agents/openapi.json',
    '/mcp/server-card',
  ],
} as const;

/** Takes a group; returns the paths of its routes, parameters as they stand in the list. */
export function pathsOf(group: Group): ReadonlySet<string> {
  const own = Object.values(routes).filter((route) => route.group === group);
  return new Set(own.map(({ path }) => path));
}

/** Takes a route and a value for each parameter of its path, which is taken as it is; throws where one is missing. */
export function pathTo({ path }: Pick<Route, 'path'>, values: Record<string, string>): string {
  return path.replace(/:(\w+)/g, (_whole, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`The path ${path} needs a value for ${name}.`);
    return value;
  });
}

/** What `Link` says of an execution: where its receipt is, signed (beyond §5). The body is the specification's. */
export function linkToReceipt(actionId: string): string {
  return `<${pathTo(routes.getReceipt, { action_id: actionId })}>; rel="describedby"`;
}

/** The path of a route as people and OpenAPI write it: `{action}` for `:action`. */
export function templateOf({ path }: Pick<Route, 'path'>): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

/** What the router takes: wherever there is GET, HEAD is answered as well. */
export function methodsOf({ method }: Pick<Route, 'method'>): string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

/** A route as the router takes it; with values, one of the many that its row stands for. */
export function at(route: Route, values?: Record<string, string>) {
  return {
    method: methodsOf(route),
    url: values === undefined ? route.path : pathTo(route, values),
  };
}

/** Where a page and its mirror stand. */
export type PagePaths = { path: string; markdownPath: string };

/** Takes the name of a page's file in `content/`, as `quote`; `index` is the first page. */
export function pathsOfPage(page: string): PagePaths {
  return {
    path: page === 'index' ? routes.startPage.path : pathTo(routes.page, { page }),
    markdownPath: pathTo(routes.mirror, { page }),
  };
}

/** The pages that something else than a page leads to. */
export const pages = {
  agents: pathsOfPage('agents'),
  contact: pathsOfPage('contact'),
  privacy: pathsOfPage('privacy'),
  receivers: pathsOfPage('receivers'),
  reference: { path: routes.reference.path, markdownPath: routes.referenceMirror.path },
  thankYou: pathsOfPage('thank-you'),
} as const;
