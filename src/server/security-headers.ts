/** The security headers of every answer, with a strict content security policy (contract §4, spec §4.6). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';

const POLICY = {
  useDefaults: false,
  directives: {
    'default-src': ["'none'"],
    'style-src': ["'self'"],
    'script-src': ["'self'"],
    'img-src': ["'self'"],
    'connect-src': ["'self'"],
    'form-action': ["'self'"],
    'base-uri': ["'none'"],
    'frame-ancestors': ["'none'"],
  },
};

/** Takes whether people come by HTTPS. The headers are the same for every answer: helmet is asked once. */
export function securityHeaders(https: boolean): Record<string, string> {
  const headers: Record<string, string> = {};
  const response = {
    setHeader: (name: string, value: string) => {
      headers[name.toLowerCase()] = value;
    },
    removeHeader: () => {},
  };
  const set = helmet({
    contentSecurityPolicy: POLICY,
    referrerPolicy: { policy: 'same-origin' },
    // Of this host alone: what else stands below its name is not ours to bind for a year.
    strictTransportSecurity: https && { includeSubDomains: false },
  });
  set({} as IncomingMessage, response as unknown as ServerResponse, () => {});
  return headers;
}
