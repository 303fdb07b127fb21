/** Input of strangers in the operator console (ASVS 1.2.1, 1.2.10, 14.2.1). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forms } from '../../src/forms/catalog.ts';
import { type Operator, operatorWith, signIn, startWithConsole } from '../console/operator.ts';
import { post } from '../support/forms.ts';
import type { Service } from '../support/service.ts';
import { allRows, keepRows, submissionRow } from '../support/submissions.ts';

/** The console's only script, in the head of a page with a session. */
const OWN_SCRIPT = '<script src="/assets/operator.js" type="module"></script>';
const CANARY = '"\'><script>canary()</script><img src=x onerror=canary()>{{canary}}<%= canary %>';

let service: Service;
let operator: Operator;
beforeAll(async () => {
  service = await startWithConsole();
  operator = await signIn(service, CANARY.slice(0, 80));
});
afterAll(() => service.close());

/** Fails if a tag or attribute of the canary is in the markup. */
function expectText(html: string): void {
  expect(html.replace(OWN_SCRIPT, '')).not.toMatch(/<script|<img src=x|onerror=canary\(\)>(?!\{)|<%=/i);
  expect(html).toContain('&lt;script&gt;canary()');
}

describe('operator console, markup in stored input', () => {
  test.each(Object.values(forms))(
    'shows markup in every field of $name as text, in the list and on the lead’s page',
    async (form) => {
      for (const { name } of form.fields) {
        const fields = { name: 'Ada', email: 'ada@example.com', [name]: CANARY };
        const row = submissionRow({ form: form.name, fields, data: { client: CANARY } });
        await keepRows(service.parts.storage, [row]);
        const { status, text } = await operator.get(`/operator/leads/${row.id}`);
        expect([name, status]).toEqual([name, 200]);
        expectText(text);
        expect(text.match(/<title>(.*)<\/title>/)?.[1]).toBe('Lead · Paint Match');
      }
      const list = await operator.get(`/operator/leads?form=${form.name}`);
      expectText(list.text);
    },
  );

  test('shows markup as text in a repeated filter, in a token and in an operator’s name', async () => {
    const query = encodeURIComponent(CANARY);
    expectText((await operator.get(`/operator/leads?q=${query}&since=${query}`)).text);
    expectText((await operator.get('/operator/audit')).text);
    const page = await operatorWith(service, '').get(`/operator/sign-in/${query}`);
    expect(page.text.replace(OWN_SCRIPT, '')).not.toMatch(/<script|<img src=x/);
  });

  test('shows markup sent through a form as text and logs neither it nor a search', async () => {
    const fields = { form: 'contact', name: CANARY, email: 'mail-canary@example.com' };
    const sent = await post(service, '/api/leads', 'json', {
      ...fields,
      subject: 'S',
      message: CANARY,
    });
    expect(sent.status).toBe(200);
    const rows = await allRows(service.parts.storage);
    const kept = rows.find(({ email }) => email === fields.email);
    expectText((await operator.get(`/operator/leads/${kept?.id}`)).text);
    await operator.get('/operator/leads?q=mail-canary');
    expect(service.logs.join('')).not.toMatch(/canary|sign-in\/[A-Za-z0-9_-]{20}/);
    const audit = await service.parts.storage.read((db) => db.selectFrom('operator_audit').select('about'));
    expect(JSON.stringify(audit)).not.toContain('canary');
  });
});
