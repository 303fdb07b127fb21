import type { AddressInfo } from 'node:net';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../../src/storage/database.ts';
import { openPostgres } from '../../../src/storage/postgres/store.ts';
import { databases } from '../../support/databases.ts';

/** ReadyForQuery, which completes a connection, and the error of a server that shuts down. */
const READY = Buffer.from('Z\0\0\0\x05I', 'latin1');
const fields = 'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0';
const FAREWELL = Buffer.alloc(5 + fields.length);
FAREWELL.write('E');
FAREWELL.writeInt32BE(4 + fields.length, 1);
FAREWELL.write(fields, 5, 'latin1');

describe.runIf(databases.length > 1)('PostgreSQL connection that ends in the packet that opens it', () => {
  let proxy: Server;
  let url: string;
  let remove: () => Promise<void>;
  /** Whether the proxy ends a connection as soon as it is open. */
  let ends = false;
  const sockets = new Set<Socket>();
  beforeAll(async () => {
    const [, create] = databases[1] ?? expect.fail();
    const database = await create();
    remove = database.remove;
    const target = new URL(database.url);
    const real = { port: Number(target.port || 5432), host: target.hostname };
    proxy = createServer((client) => {
      let opening = ends;
      const server = createConnection(real);
      for (const socket of [client, server]) sockets.add(socket.on('error', () => {}));
      client.on('data', (data) => server.write(data)).on('close', () => server.destroy());
      server.on('close', () => client.destroy());
      server.on('data', (data: Buffer) => {
        if (!opening || !data.subarray(-READY.length).equals(READY)) return void client.write(data);
        opening = false;
        client.end(Buffer.concat([data, FAREWELL]));
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    target.port = String((proxy.address() as AddressInfo).port);
    url = target.href;
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
    await remove();
  });

  test('makes the start throw StorageUnavailable', async () => {
    ends = true;
    await expect(openPostgres(url)).rejects.toThrow(StorageUnavailable);
  });

  test('makes each statement throw StorageUnavailable after the start, and leaves the pool usable', async () => {
    ends = false;
    const storage = await openPostgres(url);
    ends = true;
    // More attempts than the pool has connections.
    for (let times = 1; times <= 12; times += 1) {
      await expect(storage.check()).rejects.toThrow(StorageUnavailable);
    }
    ends = false;
    await storage.check();
    await storage.close();
  });
});
