/** Lists the paths to measure: their requests, their bare servers and their goals. */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { CONFIRMATION_STATEMENT } from '../src/actions/preview.ts';
import { sealPreview } from '../src/actions/preview-token.ts';
import { bounds } from '../src/forms/bounds.ts';
import type { Storage } from '../src/storage/database.ts';
import { clicks, insertLeads, insertPending, SESSION } from './prepared.ts';
import { get, post, type Requests } from './requests.ts';
import { SERVICE } from './service.ts';
import { FIELDS, OPERATOR, SIGNING_KEY, TOKEN } from './settings.ts';

export type Path = {
  name: string;
  /**
   * The server for the comparison: a bare server of `servers/floor.ts`, a framework's file, or another path of the
   * service.
   */
  against: 'floor' | 'one commit each' | 'Fastify' | 'Express' | 'Hono' | 'execute';
  argv: readonly string[];
  /** Goal for the ratio of requests per second. Undefined if there is no goal. */
  goal?: number;
  connections: number;
  status: number;
  logLevel: 'info' | 'warn';
  /** True if a quick run includes the path. */
  quick: boolean;
  /** True if the path is also measured at half of the peak. */
  paced: boolean;
  /** Returns the requests for one server. */
  requests(): Requests;
  /** Requests for the other server, if they differ. */
  otherwise?: { status: number; requests(): Requests };
  /** Settings that this path needs in addition to the settings of every path. */
  settings?: Record<string, string>;
  /** Inserts rows into the database of each server before it starts. */
  prepare?(storage: Storage): Promise<void>;
};

const DEFAULTS = {
  against: 'floor',
  connections: 32,
  status: 200,
  logLevel: 'info',
  quick: false,
  paced: false,
} as const;

/** The `Accept` header of Chromium when a person follows a link. */
const BROWSER =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7';

const PREVIEW = '/api/agent/actions/contact/preview';
const floor = (name: string) => [fileURLToPath(import.meta.resolve('./servers/floor.ts')), name];

/** Numbers of executions in flight, with their goals. */
const IN_FLIGHT = [{ inFlight: 1 }, { inFlight: 8 }, { inFlight: 32, goal: 0.95 }, { inFlight: 128, goal: 0.85 }];

const preview = {
  ...DEFAULTS,
  requests: () => {
    const body = JSON.stringify(FIELDS);
    const from = (address: string) => post(PREVIEW, 'application/json', body, address, BEARER);
    return { perAddress: bounds.rates.preview.limit, from, steady: true };
  },
};

/** The paths in the order of the printed table. */
export const paths: readonly Path[] = [
  { ...document('manifest', '/api/agent/manifest', 'application/json'), goal: 0.88 },
  { ...document('a page', '/quote', BROWSER), goal: 0.88 },
  {
    ...preview,
    name: 'preview',
    argv: floor('preview'),
    goal: 0.8,
    quick: true,
    paced: true,
  },
  { ...preview, name: 'preview, no log lines', argv: floor('preview'), logLevel: 'warn' },
  {
    ...preview,
    name: 'preview',
    against: 'Fastify',
    argv: [fileURLToPath(import.meta.resolve('./servers/fastify.js'))],
    goal: 1,
  },
  {
    ...preview,
    name: 'preview',
    against: 'Express',
    // Express and Hono write no log line for a request.
    logLevel: 'warn',
    argv: [fileURLToPath(import.meta.resolve('./servers/express.js'))],
    goal: 1.35,
  },
  {
    ...preview,
    name: 'preview',
    against: 'Hono',
    logLevel: 'warn',
    argv: [fileURLToPath(import.meta.resolve('./servers/hono.js'))],
  },
  ...IN_FLIGHT.map(execute),
  ...IN_FLIGHT.map((each) => againstOneCommitEach(execute(each))),
  lead('JSON', 'application/json', JSON.stringify({ form: 'contact', ...FIELDS }), 200),
  lead(
    'urlencoded',
    'application/x-www-form-urlencoded',
    new URLSearchParams({ form: 'contact', ...FIELDS }).toString(),
    303,
  ),
  {
    ...DEFAULTS,
    name: 'a press',
    against: 'execute',
    argv: SERVICE,
    status: 303,
    prepare: insertPending,
    requests: clicks,
    otherwise: { status: 200, requests: executions },
  },
  {
    ...DEFAULTS,
    name: 'the list of leads',
    argv: floor('leadsPage'),
    settings: { OPERATOR_CONSOLE: 'on', SUBMISSION_RETENTION_DAYS: '90' },
    prepare: insertLeads,
    requests: () => {
      const headers = `Accept: ${BROWSER}\r\nCookie: __Host-operator=${SESSION}\r\n`;
      const from = (address: string) => get('/operator/leads', address, headers);
      return { perAddress: 1_000, from, steady: true };
    },
  },
];

function document(name: string, path: string, accept: string): Path {
  const headers = `Accept: ${accept}\r\nAccept-Encoding: gzip, br\r\n`;
  const from = (address: string) => get(path, address, headers);
  return {
    ...DEFAULTS,
    name,
    argv: floor('document'),
    quick: true,
    paced: true,
    requests: () => ({ perAddress: 1_000, from, steady: true }),
  };
}

function execute({ inFlight, ...goal }: { inFlight: number; goal?: number }): Path {
  return {
    ...DEFAULTS,
    name: `execute, ${inFlight} in flight`,
    argv: floor('execute'),
    connections: inFlight,
    quick: inFlight === 32,
    paced: inFlight === 32,
    ...goal,
    requests: executions,
  };
}

/** Returns requests to execute. Each request has its own preview and its own idempotency key. */
function executions(): Requests {
  const from = (address: string) => {
    const body = JSON.stringify({
      preview_id: sealPreview([SIGNING_KEY], {
        action: 'contact',
        fields: FIELDS,
        destination: OPERATOR,
        createdAt: Date.now(),
      }),
      confirmation: true,
      confirmation_text: CONFIRMATION_STATEMENT,
    });
    const headers = `${BEARER}Idempotency-Key: ${randomUUID()}\r\n`;
    const path = '/api/agent/actions/contact/execute';
    return post(path, 'application/json', body, address, headers);
  };
  return { perAddress: bounds.rates.execute.limit, from, steady: false };
}

/** Returns the path for a comparison with a bare server whose claims and settlements do not share commits. */
function againstOneCommitEach({ goal: _, ...path }: Path): Path {
  const argv = floor('executeEachAlone');
  return { ...path, against: 'one commit each', argv, quick: false, paced: false };
}

function lead(name: string, contentType: string, body: string, status: number): Path {
  return {
    ...DEFAULTS,
    name: `a lead, ${name}`,
    argv: floor('lead'),
    goal: 1,
    status,
    quick: true,
    paced: true,
    requests: () => ({
      perAddress: bounds.rates.leads.limit,
      from: (address) => post('/api/leads', contentType, body, address),
      steady: true,
    }),
  };
}

const BEARER = `Authorization: Bearer ${TOKEN}\r\n`;
