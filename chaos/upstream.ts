/** A programmable upstream. The upstream records every request that reaches it, and then misbehaves. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beginFault, type Delivery, type Ledger, now } from './ledger.ts';
import type { Random } from './random.ts';

type Fate =
  | { kind: 'answers'; status: number; headers?: Record<string, string> }
  | { kind: 'answersLate'; ms: number }
  | { kind: 'dropsTheAnswer' }
  | { kind: 'resetsBeforeReading' };

export type Upstream = {
  url: string;
  /** If true, every new request draws the fate of a 200. */
  calm: boolean;
  freeze(): void;
  thaw(): void;
  /** Resets every connection, used or not. */
  reset(): void;
  /** Closes the port until `comeBack` is called. */
  leave(): Promise<void>;
  comeBack(): Promise<void>;
  close(): Promise<void>;
};

/** Starts the upstream. Each request draws its fate from `random`. */
export async function startUpstream(ledger: Ledger, random: Random, timeoutMs: number): Promise<Upstream> {
  const sockets = new Set<Socket>();
  const subscribers = new Set<string>();
  let frozen: Promise<void> | undefined;
  let thawed = () => {};

  const server = createServer((request, response) => {
    const fate = upstream.calm ? answering(200) : drawFate(random, timeoutMs);
    if (fate.kind === 'resetsBeforeReading') {
      beginFault(ledger, 'upstream resets before it reads')();
      request.socket.resetAndDestroy();
      return;
    }
    void act(request, response, fate);
  });
  server.keepAliveTimeout = 3_000;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });

  async function act(request: IncomingMessage, response: ServerResponse, fate: Fate) {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      return;
    }
    const delivery = deliveryOf(request, Buffer.concat(chunks).toString(), now(ledger));
    ledger.deliveries.push(delivery.seen);
    const wasSubscribed = subscribers.has(delivery.email);
    const isSubscriber = delivery.seen.type === 'subscriber.created';
    if (fate.kind !== 'answers' || fate.status === 200) {
      if (isSubscriber) subscribers.add(delivery.email);
    }
    if (frozen !== undefined) {
      delivery.seen.fate = 'frozen';
      await frozen;
      answer(response, delivery.seen, wasSubscribed && isSubscriber ? 409 : 200);
      return;
    }
    const healed = fate.kind === 'answers' && fate.status === 200 ? undefined : beginFault(ledger, nameOf(fate));
    if (fate.kind === 'dropsTheAnswer') {
      delivery.seen.fate = 'acted, answer dropped';
      request.socket.resetAndDestroy();
    } else if (fate.kind === 'answersLate') {
      delivery.seen.fate = `acted, answered after ${Math.round(fate.ms)} ms`;
      await sleep(fate.ms);
      answer(response, delivery.seen, wasSubscribed && isSubscriber ? 409 : 200);
    } else if (fate.kind === 'answers') {
      const status = fate.status === 200 && wasSubscribed && isSubscriber ? 409 : fate.status;
      delivery.seen.fate = 'answered';
      answer(response, delivery.seen, status, fate.headers);
    }
    healed?.();
  }

  const listen = (at: number) => new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      upstream.thaw();
      server.close(() => resolve());
      server.closeAllConnections();
    });
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const upstream: Upstream = {
    url: `http://127.0.0.1:${port}/hook`,
    calm: false,
    freeze: () => {
      frozen ??= new Promise((resolve) => {
        thawed = resolve;
      });
    },
    thaw: () => {
      frozen = undefined;
      thawed();
    },
    reset: () => {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    leave: close,
    comeBack: () => listen(port),
    close,
  };
  return upstream;
}

function answer(response: ServerResponse, seen: Delivery, status: number, headers?: Record<string, string>): void {
  seen.status = status;
  response.writeHead(status, headers).end('{"private":"to the upstream"}');
}

function answering(status: number, headers?: Record<string, string>): Fate {
  return headers === undefined ? { kind: 'answers', status } : { kind: 'answers', status, headers };
}

/** Statuses that reject a submission, so that it is not retried automatically. */
export const REJECTIONS: readonly number[] = [400, 410, 413, 422];

/** Draws the fate of a request. Four of five requests succeed. Every other request meets one fault. */
function drawFate(random: Random, timeoutMs: number): Fate {
  if (random.chance(0.8)) return answering(200);
  return random.pick<() => Fate>([
    () => answering(random.pick(REJECTIONS)),
    () => answering(random.pick([401, 404])),
    () => answering(429, { 'retry-after': random.pick(['1', '7', 'soon']) }),
    () => answering(random.pick([500, 502, 503])),
    () => answering(302, { location: '/elsewhere' }),
    () => ({ kind: 'dropsTheAnswer' }),
    () => ({ kind: 'resetsBeforeReading' }),
    () => ({ kind: 'answersLate', ms: random.between(0.6, 1.5) * timeoutMs }),
  ])();
}

function nameOf(fate: Fate): string {
  switch (fate.kind) {
    case 'answers':
      return fate.status === 429 ? 'upstream answers 429' : `upstream answers ${Math.floor(fate.status / 100)}xx`;
    case 'answersLate':
      return 'upstream answers late';
    case 'dropsTheAnswer':
      return 'upstream acts, drops the answer';
    case 'resetsBeforeReading':
      return 'upstream resets before it reads';
  }
}

function deliveryOf(request: IncomingMessage, body: string, at: number) {
  const { type, data } = JSON.parse(body);
  const { email, contractor = '' } = data.fields;
  const seen: Delivery = {
    at,
    webhookId: String(request.headers['webhook-id']),
    marker: email.split('@', 1)[0],
    type,
    origin: data.origin,
    attempt: contractor,
    body,
    fate: 'read',
    status: 0,
  };
  return { seen, email: String(email) };
}
