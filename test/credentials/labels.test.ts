/** People and operators see a client's label, programs see its name (reference §16.6). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mailedCode, openPage, pending, pressButton } from '../confirmations/rig.ts';
import { type Operator, signIn, startWithConsole } from '../console/operator.ts';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { executeAction, previewId, quote } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { getReceipt, newKey } from '../support/receipts.ts';
import { credentials, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

const LABEL = 'Åcme <b>“Assistant”</b> & Söhne';
const ESCAPED = 'Åcme &lt;b&gt;“Assistant”&lt;/b&gt; &amp; Söhne';
const clock = testClock();
let mail: MailServer;
let upstream: ProgrammableUpstream;
let service: Service;
let operator: Operator;

const labelled = (label: string | undefined) =>
  JSON.stringify({
    clients: credentials.clients.map((client) => (client.name === 'acme' ? { ...client, label } : client)),
  });

beforeAll(async () => {
  mail = await startMailServer();
  upstream = await startUpstream();
  service = await startWithConsole({
    clock,
    environment: {
      UPSTREAM_URL: upstream.url,
      SMTP_URL: mail.url,
      NOTIFY_EMAIL: 'leads@paint.example',
      RECEIPT_SIGNING_KEYS: newKey(),
    },
  });
  writeFileSync(join(service.folder, 'agents.json'), labelled(LABEL));
  await service.parts.credentials.reload();
  operator = await signIn(service);
});
afterAll(async () => {
  await service.close();
  await upstream.close();
  await mail.close();
});

/** Returns the text of the first message to an address, decoded, without its line breaks. */
async function mailTo(address: string): Promise<string> {
  const raw = () => mail.received.find(({ to }) => to.includes(address))?.raw;
  await until(async () => {
    clock.advance(1_000);
    return raw() !== undefined;
  });
  const bytes = (raw() ?? '')
    .replace(/=\r?\n/g, '')
    .replace(/((?:=[\dA-F]{2})+)/g, (encoded) => Buffer.from(encoded.replaceAll('=', ''), 'hex').toString());
  return bytes.replace(/\s+/g, ' ');
}

describe('label of a client', () => {
  test('is shown escaped on the confirmation page and the result page, without the name of the client', async () => {
    const { path } = await pending(service);
    const asked = await openPage(service, path);
    const changed = await pressButton(service, path, 'change');
    const other = await pending(service);
    await pressButton(service, other.path, 'report');
    const reported = await openPage(service, other.path);
    for (const { status, text } of [asked, changed, reported]) {
      expect(status).toBe(200);
      expect(text).toContain(ESCAPED);
      expect(text).not.toContain(LABEL);
      expect(text).not.toMatch(/\bacme\b/);
    }
  });

  test('is in the mail that contains the code', async () => {
    const email = 'code@example.com';
    const { path } = await pending(service, { fields: { ...quote, email }, via: 'page_email' });
    await pressButton(service, path, 'code');
    await mailedCode(mail, clock, email);
    const text = await mailTo(email);
    expect(text).toContain(LABEL);
    expect(text).not.toMatch(/\bacme\b/);
  });

  test('is in notices, but the receipt, the signed receipt and the webhook contain the client’s name', async () => {
    const fields = { ...quote, email: 'grace@example.com' };
    const executed = await executeAction(service, await previewId(service, undefined, fields));
    expect(executed.status).toBe(200);
    const notice = await mailTo('leads@paint.example');
    expect(notice).toContain(`an agent, ${LABEL}`);
    expect(notice).not.toMatch(/\bacme\b/);

    expect(upstream.delivered.at(-1)?.event.data.client).toBe('acme');
    const { text, body } = await getReceipt(service, executed.body.receipt.action_id);
    const claims = Buffer.from(body.signed_receipt.split('.')[1], 'base64url').toString();
    for (const record of [text, claims, upstream.delivered.at(-1)?.body]) expect(record).not.toContain('Åcme');
    expect(JSON.parse(claims).client).toBe('acme');
  });

  test('is on the console’s pages, escaped, together with the client’s name', async () => {
    await pending(service, { fields: { ...quote, email: 'third@example.com' } });
    for (const path of ['/operator/confirmations', '/operator/agents', '/operator/agents?revoke=acme']) {
      const { text } = await operator.get(path);
      expect(text).toContain(`<bdi>${ESCAPED}</bdi>`);
      expect(text).toContain('<bdi>acme</bdi>');
      expect(text).not.toContain(LABEL);
    }
  });

  test('is replaced by the client’s name if the client has no label or is no longer in the file', async () => {
    const { path } = await pending(service, { fields: { ...quote, email: 'fourth@example.com' } });
    const file = join(service.folder, 'agents.json');
    for (const text of [labelled(undefined), JSON.stringify({ clients: [] })]) {
      writeFileSync(file, text);
      await service.parts.credentials.reload();
      expect((await openPage(service, path)).text).toMatch(/<bdi>acme<\/bdi>/);
    }
    writeFileSync(file, labelled(LABEL));
    await service.parts.credentials.reload();
  });
});
