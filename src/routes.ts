/**
 * Lists all routes. This is the only file in `src` that contains paths (`test/routes.test.ts`). Registration, CORS,
 * OpenAPI and links read the list. A new endpoint is a row here and a handler.
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

/** All routes by name. The name of a documented route is its `operationId`. OpenAPI has the same order. */
export const routes = {
  previewAction: actions.post('/api/agent/actions/:action/preview', '§5.3', 'Preview an action'),
  executeAction: actions.post('/api/agent/actions/:action/execute', '§5.6', 'Execute a confirmed action'),
  createConfirmation: actions.post('/api/agent/confirmations', '§6.5', 'Ask the person to confirm on a page'),
  getConfirmation: actions.get('/api/agent/confirmations/:id', '§6.5', 'Get what became of a confirmation'),
  cancelConfirmation: actions.delete('/api/agent/confirmations/:id', '§6.5', 'Cancel a pending confirmation'),
  getReceipt: actions.get('/api/agent/receipts/:action_id', '§7.1', 'Get the signed receipt of an execution'),

  submitLead: forms.post('/api/leads', '§4.4', 'Submit a form from a browser'),
  subscribeNewsletter: forms.post('/api/subscribe', '§4.5', 'Subscribe from a browser'),

  getWellKnownManifest: discovery.get(
    '/.well-known/service-agent.json',
    '§14.2',
    'Get the manifest at its well-known address',
  ),
  getManifest: discovery.get('/api/agent/manifest', '§14.2', 'Get the agent manifest'),
  getLlmsText: discovery.get('/llms.txt', '§14.3', 'Get llms.txt'),
  listContent: discovery.get('/api/agent/content', '§14.4', 'List the content, or get one resource'),
  getReceiptKeys: discovery.get('/.well-known/jwks.json', '§7.1', 'Get the keys that receipts are verified with'),
  getOpenapiDocument: discovery.get('/openapi.json', '§14.5', 'Get this document'),

  eventSchema: definitions.get('/schemas/:type.json', '§14.7', 'The schema of an event'),
  getAgentsDocument: definitions.get(
    '/agents/openapi.json',
    '§14.6',
    'OpenAPI of the agent actions alone, a path for each',
  ),
  apiCatalog: definitions.get('/.well-known/api-catalog', '§14.8', 'RFC 9727'),
  ardManifest: definitions.get('/.well-known/ard.json', '§14.12', 'Tools and skill, in words for a search'),
  aiCatalog: definitions.get('/.well-known/ai-catalog.json', '§14.12', 'Leads there; where MCP is on'),
  serverCard: definitions.get('/mcp/server-card', '§14.8', 'The card of the tools; where MCP is on'),
  skillsIndex: definitions.get('/.well-known/agent-skills/index.json', '§14.9', 'The skills that an agent can read'),
  skill: definitions.get('/.well-known/agent-skills/:skill/SKILL.md', '§14.9', 'One of them'),

  mcp: tools.post('/mcp', '§8.2', 'The tools, by the Model Context Protocol'),
  handOff: tools.post('/mcp/open', '§8.11', 'The tool that fills in a form, without a credential'),

  connect: tools.post('/connect', '§26.2', 'The same tools, for hosts that connect with OAuth'),
  requestToken: tools.post('/oauth/token', '§26.6', 'Tokens for a code or a refresh token'),
  revokeToken: tools.post('/oauth/revoke', '§26.8', 'Ends a token, RFC 7009'),
  resourceMetadata: definitions.get('/.well-known/oauth-protected-resource/connect', '§26.3', 'RFC 9728'),
  issuerMetadata: definitions.get('/.well-known/oauth-authorization-server/oauth', '§26.3', 'RFC 8414'),
  authorizePage: press.get('/oauth/authorize', '§26.4', 'Where a person connects a host'),
  pressAuthorize: press.post('/oauth/authorize', '§26.4', 'Its buttons'),

  confirmationPage: press.get('/confirm/:secret', '§6.8', 'What one person is asked'),
  pressConfirmation: press.post('/confirm/:secret', '§6.10', 'The buttons of that page'),

  signInForm: signIn.get('/operator/sign-in', '§12.16', 'Ask for a link by mail, or the command for one'),
  requestSignIn: signIn.post('/operator/sign-in', '§12.16', 'Its button'),
  signInSent: signIn.get('/operator/sign-in/sent', '§12.16', 'Says that a link may be on its way'),
  signInPage: signIn.get('/operator/sign-in/:token', '§12.2', 'The button of any link'),
  signIn: signIn.post('/operator/sign-in/:token', '§12.2', 'That button'),
  operatorScript: signIn.get('/assets/operator.js', 'ours', 'The script that counts new leads'),
  operatorStylesheet: signIn.get('/assets/operator.css', 'ours', 'The rules of those pages alone'),
  operatorPage: operator.get('/operator', '§12.6', 'What needs attention'),
  signOut: operator.post('/operator', '§12.3', 'Sign out, sign out everywhere'),
  operatorLeads: operator.get('/operator/leads', '§12.7', 'The leads, newest first'),
  operatorLeadsCsv: operator.get('/operator/leads.csv', '§12.9', 'The same as CSV'),
  operatorLeadsJsonl: operator.get('/operator/leads.jsonl', '§12.9', 'The same as JSON lines'),
  operatorNewLeads: operator.get('/operator/leads/new', '§12.14', 'The number of new leads'),
  changeLeads: operator.post('/operator/leads/bulk', '§12.14', 'Progress or resend of several leads'),
  undoChange: operator.post('/operator/leads/undo', '§12.14', 'Undo the last change of progress'),
  operatorLead: operator.get('/operator/leads/:id', '§12.10', 'One lead'),
  changeLead: operator.post('/operator/leads/:id', '§12.10', 'Resend, dismiss, spam'),
  changeProgress: operator.post('/operator/leads/:id/progress', '§12.14', 'Progress of one lead'),
  changeNote: operator.post('/operator/leads/:id/note', '§12.14', 'Note on one lead'),
  operatorPerson: operator.get('/operator/people/:id', '§12.11', 'Everything about one person'),
  changePerson: operator.post('/operator/people/:id', '§12.11', 'Delete it'),
  operatorAgents: operator.get('/operator/agents', '§12.17', 'Clients and their credentials'),
  changeAgents: operator.post('/operator/agents', '§12.17', 'Issue, rotate or revoke a credential'),
  operatorConnections: operator.get('/operator/connections', '§12.19', 'Hosts that are connected with OAuth'),
  changeConnections: operator.post('/operator/connections', '§12.19', 'Disconnect one'),
  operatorConfirmations: operator.get('/operator/confirmations', '§12.13', 'What was asked'),
  operatorSubscribers: operator.get('/operator/subscribers', '§12.13', 'The subscribers'),
  operatorSubscribersCsv: operator.get('/operator/subscribers.csv', '§12.9', 'The same as CSV'),
  seeReports: operator.post('/operator/confirmations', '§12.14', 'Mark reports as seen'),
  operatorMessages: operator.get('/operator/messages', '§12.13', 'Messages and dead ones'),
  changeMessage: operator.post('/operator/messages', '§12.13', 'Resend one'),
  operatorAudit: operator.get('/operator/audit', '§12.12', 'Who did what'),
  newsletterPage: press.get('/newsletter/confirm/:token', '§9.5', 'Where a subscriber confirms'),
  confirmSubscription: press.post('/newsletter/confirm/:token', '§9.5', 'Its button'),
  leavePage: press.get('/newsletter/leave/:token', '§9.6', 'Where a subscriber leaves'),
  leaveNewsletter: press.post('/newsletter/leave/:token', '§9.6', 'Its button, and RFC 8058'),

  startPage: site.get('/', '§15.1', 'The page that `content/index.md` holds'),
  page: site.get('/:page', '§15.1', 'A page, for each other file of `content/`'),
  mirror: site.get('/:page.md', '§15.3', 'The mirror of a page in Markdown'),
  reference: site.get('/reference', 'ours', 'The page made from the OpenAPI document'),
  referenceMirror: site.get('/reference.md', 'ours', 'Its mirror in Markdown'),

  asset: files.get('/assets/:file', 'ours', 'A file under a name that changes with its content'),
  sitemap: files.get('/sitemap.xml', 'ours', 'The pages that search engines may list'),
  robots: files.get('/robots.txt', 'ours', 'Where the sitemap is'),
  favicon: files.get('/favicon.ico', 'ours', 'Leads to the icon'),
  securityContact: files.get('/.well-known/security.txt', 'ours', 'RFC 9116; where a contact is set'),

  liveness: health.get('/healthz', 'ours', 'Whether the process answers'),
  readiness: health.get('/readyz', 'ours', 'Whether it can keep what it is given'),

  metrics: metrics.get('/metrics', 'ours', 'What Prometheus reads, where METRICS_PORT is set'),
} satisfies Record<string, Route>;

export type RouteName = keyof typeof routes;

/** Names of the routes that need a session (reference §12). */
export type ConsoleRoute = {
  [Name in RouteName]: (typeof routes)[Name]['group'] extends 'console' ? Name : never;
}[RouteName];

/** Names of the documented routes. */
export type OperationId = {
  [Name in RouteName]: (typeof routes)[Name]['group'] extends DocumentedGroup ? Name : never;
}[RouteName];

/** Path of the issuer of tokens, which no route serves. RFC 8414 derives the address of its metadata from it. */
export const issuerPath = '/oauth';

/**
 * Folders for machines. A request for an unknown path in these folders gets an answer in JSON. Those of `agent` also
 * answer with problem details (reference §18.5).
 */
export const folders = {
  api: '/api/',
  agent: ['/api/agent/actions', '/api/agent/confirmations', '/api/agent/receipts'],
  discovery: ['/.well-known/', '/schemas/', '/agents/openapi.json', '/mcp/server-card'],
} as const;

/** Returns the paths of a group's routes. A parameter stays as it is in `routes`, such as `:action`. */
export function pathsOf(group: Group): ReadonlySet<string> {
  const own = Object.values(routes).filter((route) => route.group === group);
  return new Set(own.map(({ path }) => path));
}

/**
 * Returns the path of a route with a percent-encoded value for each parameter. A value may come from a request.
 * @throws Error if a value is missing
 */
export function pathTo({ path }: Pick<Route, 'path'>, values: Readonly<Record<string, string | undefined>>): string {
  return path.replace(/:(\w+)/g, (_whole, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`The path ${path} needs a value for ${name}.`);
    return encodeURIComponent(value);
  });
}

/** Returns the `Link` header of an execution, which points to its signed receipt (reference §7). */
export function linkToReceipt(actionId: string): string {
  return `<${pathTo(routes.getReceipt, { action_id: actionId })}>; rel="describedby"`;
}

/** Returns the path of a route as OpenAPI writes it, with `{action}` for `:action`. */
export function templateOf({ path }: Pick<Route, 'path'>): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

/** Returns the methods of a route. A route with GET also answers HEAD. */
export function methodsOf({ method }: Pick<Route, 'method'>): string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

/** Returns the router options of a route: methods and path. `values` replace the parameters of the path. */
export function at(route: Route, values?: Record<string, string>) {
  return {
    method: methodsOf(route),
    url: values === undefined ? route.path : pathTo(route, values),
  };
}

/** Paths of a page and its Markdown mirror. */
export type PagePaths = { path: string; markdownPath: string };

/** Returns the paths of a page by the name of its file in `content/`, such as `quote`. `index` is the first page. */
export function pathsOfPage(page: string): PagePaths {
  return {
    path: page === 'index' ? routes.startPage.path : pathTo(routes.page, { page }),
    markdownPath: pathTo(routes.mirror, { page }),
  };
}

/**
 * Returns the path of a page with values in its fragment, which fill in its form (reference §15.9). The path ends in a
 * letter or digit and has no `*`, because programs that recognize links omit other characters.
 */
export function filledPath(page: string, values: Readonly<Record<string, string>>): string {
  const encoded = new URLSearchParams(values).toString();
  const fragment = encoded.replace(/\*|[._-]$/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  return pathsOfPage(page).path + (fragment === '' ? '' : `#${fragment}`);
}

/** The pages whose paths the code needs. */
export const pages = {
  agents: pathsOfPage('agents'),
  contact: pathsOfPage('contact'),
  privacy: pathsOfPage('privacy'),
  receivers: pathsOfPage('receivers'),
  reference: { path: routes.reference.path, markdownPath: routes.referenceMirror.path },
  thankYou: pathsOfPage('thank-you'),
} as const;
