import pg from 'pg';
import { expect, test } from 'vitest';
import { driverAddress } from '../../../src/storage/postgres/connection.ts';

const sslOf = (connectionString: string) =>
  // The driver’s types don’t declare the parsed TLS settings.
  (new pg.Client({ connectionString }) as unknown as { connectionParameters: { ssl: unknown } }).connectionParameters
    .ssl;

test.each(['prefer', 'require', 'verify-ca', 'verify-full'])(
  'replaces sslmode=%s with verify-full, which the driver treats alike',
  (mode) => {
    for (const url of [
      `postgres://u:p%25@db.example/leads?sslmode=${mode}`,
      `postgres://db.example/leads?target_session_attrs=any&sslmode=${mode}&connect_timeout=3`,
    ]) {
      const told = driverAddress(url);
      expect(told).toBe(url.replace(`sslmode=${mode}`, 'sslmode=verify-full'));
      expect(sslOf(told)).toEqual(sslOf(url));
    }
  },
);

test.each([
  'postgres://db.example/leads',
  'postgres://db.example/leads?sslmode=disable',
  'postgres://db.example/leads?sslmode=no-verify',
  'postgres://db.example/leads?uselibpqcompat=true&sslmode=require',
  'postgres://u:sslmode=require@db.example/leads',
])('leaves %s as is', (url) => {
  expect(driverAddress(url)).toBe(url);
});

test.each([
  ['postgres://db.example/leads?application_name=mine', 'postgres://db.example/leads'],
  ['postgres://db.example/leads?application_name=a%26b&x=1', 'postgres://db.example/leads?x=1'],
  ['postgres://db.example/leads?x=1&application_name=', 'postgres://db.example/leads?x=1'],
  [
    'postgres://db.example/leads?fallback_application_name=mine',
    'postgres://db.example/leads?fallback_application_name=mine',
  ],
])('removes application_name from %s, so that a restore recognizes the service’s connections', (url, told) => {
  expect(driverAddress(url)).toBe(told);
});
