/** Requests to the operator console as a browser sends them, for the tests of `src/console`. */
import { writeFileSync } from 'node:fs';
import { makeLink } from '../../src/console/links.ts';
import { type Answer, call } from '../support/agent.ts';
import { type Service, type ServiceOptions, startService } from '../support/service.ts';

/** Headers that a browser sends with a form of our own page. */
export const OUR_PAGE = { 'sec-fetch-site': 'same-origin' };

/**
 * Starts the service with its console on. Retention reads PostgreSQL's own clock, by which the rows of the tests are old,
 * so it would delete their content as soon as a test advances the clock.
 */
export function startWithConsole({ environment, ...options }: ServiceOptions = {}): Promise<Service> {
  const own = { NODE_ENV: 'test', OPERATOR_TIME_ZONE: 'Europe/Berlin', SUBMISSION_RETENTION_DAYS: '36500' };
  return startService({ ...options, environment: { ...own, ...environment } });
}

/** Replaces the credentials file by one with these clients, which the service reads at once. */
export async function useClients({ parts, settings }: Service, clients: readonly object[]): Promise<void> {
  writeFileSync(settings.credentialsFile ?? '', JSON.stringify({ clients }));
  await parts.credentials.reload();
}

/** Creates a sign-in link for this name and returns its path. */
export async function linkFor({ parts }: Pick<Service, 'parts'>, name = 'Jo'): Promise<string> {
  const now = parts.clock.now();
  const link = { name, now, baseUrl: 'http://operator.example' };
  return new URL(await makeLink(parts.storage, link)).pathname;
}

type Options = { headers?: Record<string, string>; body?: URLSearchParams; method?: string };

export type Operator = {
  /** `operator=…`, as in the Cookie header. */
  cookie: string;
  /** Opens a page. */
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** Clicks a button of a page. */
  press(path: string, form: Record<string, string>, options?: Options): Promise<Answer>;
};

/** Returns a client with this cookie, or without a cookie if it is empty. */
export function operatorWith(service: Pick<Service, 'url'>, cookie: string): Operator {
  const own = cookie === '' ? {} : { cookie };
  return {
    cookie,
    get: (path, headers = {}) =>
      call(service, path, { method: 'GET', headers: { accept: 'text/html', ...own, ...headers } }),
    press: (path, form, { headers = OUR_PAGE, ...options } = {}) =>
      call(service, path, {
        headers: { ...own, ...headers },
        body: new URLSearchParams(form),
        ...options,
      }),
  };
}

/** Returns the address to which a request without a session is redirected. */
export function signInFor(page: string): string {
  return `/operator/sign-in?page=${encodeURIComponent(page)}`;
}

/** Returns true if the client has a session. */
export async function isSignedIn({ get }: Operator): Promise<boolean> {
  const { status, headers } = await get('/operator/audit');
  if (status === 303) return headers.get('location') !== signInFor('/operator/audit');
  return status === 200;
}

/** Returns the cookie of `Set-Cookie`, without its attributes. */
export function cookieOf({ headers }: Answer): string {
  return headers.get('set-cookie')?.split(';', 1)[0] ?? '';
}

/** Signs in with a new link. */
export async function signIn(service: Pick<Service, 'url' | 'parts'>, name = 'Jo'): Promise<Operator> {
  const path = await linkFor(service, name);
  return operatorWith(service, cookieOf(await operatorWith(service, '').press(path, {})));
}
