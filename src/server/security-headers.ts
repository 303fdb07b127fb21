/** The security headers of every answer, with a strict content security policy (contract §4, spec §4.6). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';

const DIRECTIVES = {
  'default-src': ["'none'"],
  'img-src': ["'self'"],
  'connect-src': ["'self'"],
  'form-action': ["'self'"],
  'base-uri': ["'none'"],
  'frame-ancestors': ["'none'"],
};

type Options = {
  /** Whether people come by HTTPS. */
  https: boolean;
  /** What stands in pages themselves. */
  inline: { styles: readonly string[]; scripts: readonly string[] };
};

/** The headers, the same for every answer: helmet is asked once. */
export function securityHeaders({ https, inline }: Options): Record<string, string> {
  const headers: Record<string, string> = {};
  const response = {
    setHeader: (name: string, value: string) => {
      headers[name.toLowerCase()] = value;
    },
    removeHeader: () => {},
  };
  const set = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        ...DIRECTIVES,
        'style-src': ["'self'", ...inline.styles],
        'script-src': ["'self'", ...inline.scripts],
      },
    },
    referrerPolicy: { policy: 'same-origin' },
    // Of this host alone: what else stands below its name is not ours to bind for a year.
    strictTransportSecurity: https && { includeSubDomains: false },
  });
  set({} as IncomingMessage, response as unknown as ServerResponse, () => {});
  return headers;
}
