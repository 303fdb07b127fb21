/** Somebody at the operator's console, as a browser would come: for the tests of `src/console`. */
import { makeLink } from '../../src/console/links.ts';
import { type Answer, call } from '../support/agent.ts';
import { type Service, type ServiceOptions, startService } from '../support/service.ts';

/** As a browser says of a form of our own page. */
export const OUR_PAGE = { 'sec-fetch-site': 'same-origin' };

/** The service with its console on, as on a machine of one's own. */
export function startWithConsole({
  environment,
  ...options
}: ServiceOptions = {}): Promise<Service> {
  return startService({
    ...options,
    environment: { NODE_ENV: 'test', OPERATOR_TIME_ZONE: 'Europe/Berlin', ...environment },
  });
}

/** The path of a link that has just been made for that name. */
export async function linkFor({ parts }: Pick<Service, 'parts'>, name = 'Jo'): Promise<string> {
  const now = parts.clock.now();
  const link = { name, now, baseUrl: 'http://operator.example' };
  return new URL(await makeLink(parts.storage, link)).pathname;
}

type Options = { headers?: Record<string, string>; body?: URLSearchParams; method?: string };

export type Operator = {
  /** `operator=…`, as a browser sends it back. */
  cookie: string;
  /** Opens a page. */
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** Presses a button of a page. */
  press(path: string, form: Record<string, string>, options?: Options): Promise<Answer>;
};

/** Whoever has that cookie; none where it is empty. */
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

/** What `Set-Cookie` says, as it is sent back. */
export function cookieOf({ headers }: Answer): string {
  return headers.get('set-cookie')?.split(';', 1)[0] ?? '';
}

/** Signs in by a new link. */
export async function signIn(
  service: Pick<Service, 'url' | 'parts'>,
  name = 'Jo',
): Promise<Operator> {
  const path = await linkFor(service, name);
  return operatorWith(service, cookieOf(await operatorWith(service, '').press(path, {})));
}
