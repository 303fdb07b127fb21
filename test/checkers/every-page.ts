/** Every page that a browser can get, in each of its states, as HTML. The checkers read them. */
import { forms } from '../../src/forms/catalog.ts';
import { pathsOfPage } from '../../src/routes.ts';
import { pending, pressButton } from '../confirmations/rig.ts';
import { linkFor, OUR_PAGE, signIn } from '../console/operator.ts';
import { consolePages } from '../console/pages.ts';
import { rowOf } from '../newsletter/rig.ts';
import { connectionRow, keepConnections, queryOf } from '../oauth/rig.ts';
import { type Answer, call, quote } from '../support/agent.ts';
import { send } from '../support/mcp.ts';
import { type Service, startService } from '../support/service.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';

export type RenderedPage = {
  /** Path and state. */
  name: string;
  path: string;
  html: string;
};

const EVIL = `"><script>alert('1')</script> & <b>`;

/** Starts the service that answers with the pages. No upstream listens, and timers send nothing. */
export function startForCheckers(environment: Record<string, string> = {}): Promise<Service> {
  return startService({
    environment: {
      ...{ NODE_ENV: 'test', LOG_LEVEL: 'silent', REDELIVERY: 'off', OPERATOR_CONTACT: 'help@paint.example' },
      ...{ OPERATORS: 'jo@paint.example', OPERATOR_TIME_ZONE: 'Europe/Berlin', UPSTREAM_URL: 'http://127.0.0.1:1/' },
      ...environment,
    },
  });
}

/** Renders the pages. */
export async function renderEveryPage(service: Service): Promise<RenderedPage[]> {
  const rendered: RenderedPage[] = [];
  const browse = (path: string) => call(service, path, { method: 'GET', headers: { accept: 'text/html' } });
  /** Keeps an answer, or the page to which it leads. */
  const keep = async (path: string, state: string, answer: Answer, get = browse): Promise<void> => {
    if (answer.status === 303) {
      const next = String(answer.headers.get('location'));
      return keep(next, state, await get(next));
    }
    const type = answer.headers.get('content-type');
    if (type !== 'text/html; charset=utf-8') throw new Error(`${path} (${state}): ${answer.status} ${type}`);
    rendered.push({ name: `${path} (${answer.status}, ${state})`, path, html: answer.text });
  };
  const show = async (path: string, state = 'opened') => await keep(path, state, await browse(path));
  const press = (path: string, form: Record<string, string>, headers: Record<string, string> = OUR_PAGE) =>
    call(service, path, { headers: { accept: 'text/html', ...headers }, body: new URLSearchParams(form) });

  for (const { path } of await service.parts.pages()) await show(path);
  await show('/reference');
  await show('/nothing-here');
  await showForms();
  await showConfirmations();
  await showNewsletter();
  await showConnect();
  await showSignIn();
  await showConsole();
  const card = await send(service, 'resources/read', { uri: 'ui://lead-intake/preview' });
  rendered.push({ name: 'card', path: '/', html: card.body.result.contents[0].text });
  return rendered;

  async function showForms() {
    for (const { page, fields, name } of Object.values(forms)) {
      const { path } = pathsOfPage(page);
      const address = name === 'newsletter' ? '/api/subscribe' : '/api/leads';
      const given = Object.fromEntries(fields.map((field) => [field.name, field.example]));
      const submit = (changes: Record<string, string>) =>
        press(address, { form: name, privacy: 'on', ...given, ...changes });
      await keep(path, 'refused', await submit({ email: EVIL }));
      await keep(path, 'too long', await submit({ email: 'x'.repeat(400) }));
      await keep(path, 'stored', await submit({}));
    }
    await keep('/quote', 'unknown form', await press('/api/leads', { form: 'unknown' }));
  }

  async function showConfirmations() {
    const fields = { ...quote, name: EVIL, message: `Two rooms,\n${EVIL}` };
    for (const via of ['page', 'page_email']) {
      const { path } = await pending(service, { fields, via });
      await show(path, via);
      if (via === 'page_email') {
        await keep(path, 'code mailed', await pressButton(service, path, 'code'));
        await keep(path, 'wrong code', await pressButton(service, path, 'check', { code: '000000' }));
      }
      await keep(path, 'other origin', await pressButton(service, path, 'decline', { headers: {} }));
    }
    for (const button of ['decline', 'change', 'send', 'report']) {
      const { path } = await pending(service, { fields });
      await keep(path, button, await pressButton(service, path, button));
      await show(path, `after ${button}`);
    }
    await show('/confirm/unknown');
  }

  async function showNewsletter() {
    const row = await rowOf(service, String(forms.newsletter.fields[0]?.example));
    if (row === undefined) throw new Error('The form stored no subscriber.');
    const { confirm_token, leave_token } = row;
    for (const path of [`/newsletter/confirm/${confirm_token}`, `/newsletter/leave/${leave_token}`]) {
      await show(path);
      await keep(path, 'clicked', await press(path, {}));
      await show(path, 'opened again');
    }
    await show(`/newsletter/confirm/${confirm_token}`, 'after leaving');
    await show('/newsletter/leave/unknown');
  }

  async function showConnect() {
    const path = `/oauth/authorize${queryOf(service)}`;
    await show(path);
    await show('/oauth/authorize', 'without a query');
    await keep(path, 'other origin', await press(path, { do: 'connect' }, {}));
  }

  async function showSignIn() {
    for (const path of ['/operator/sign-in', '/operator/sign-in/sent', '/operator/sign-in/unknown']) await show(path);
    await show(await linkFor(service));
    await keep('/operator/sign-in', 'bad address', await press('/operator/sign-in', { email: EVIL }));
    await keep('/operator/sign-in/unknown', 'clicked', await press('/operator/sign-in/unknown', {}));
  }

  async function showConsole() {
    const receivedAt = new Date().toISOString();
    const fields = { name: EVIL, email: 'eve@example.com', phone: '+1 555 0101', message: 'Two rooms\n\nand a door' };
    const rows = [
      submissionRow({
        receivedAt,
        fields,
        status: 'undelivered',
        reason: 'rejected',
        attempts: [{ outcome: 'rejected', http_status: 422 }],
      }),
      submissionRow({
        receivedAt,
        fields,
        progress: 'answered',
        note: EVIL,
        origin: 'agent',
        data: { client: 'acme' },
      }),
      ...Array.from({ length: 60 }, () => submissionRow({ receivedAt })),
    ];
    await keepRows(service.parts.storage, rows);
    await keepConnections(service, connectionRow());
    const operator = await signIn(service);
    const open = async (path: string) => await keep(path, 'signed in', await operator.get(path));
    const change = async (path: string, state: string, form: Record<string, string>) =>
      keep(
        path,
        state,
        await operator.press(path, form, { headers: { accept: 'text/html', ...OUR_PAGE } }),
        operator.get,
      );
    const [first, second] = rows;
    for (const path of consolePages) await open(path);
    for (const query of ['status=undelivered', 'q=eve&progress=answered', 'q=nobody', 'since=x'])
      await open(`/operator/leads?${query}`);
    for (const row of [first, second]) await open(`/operator/leads/${row?.id}`);
    await open(`/operator/people/${first?.id}`);
    await open(`/operator/people/${first?.id}?delete=ask`);
    await open('/operator/leads/00000000-0000-4000-8000-000000000000');
    await change(`/operator/leads/${first?.id}/progress`, 'marked', {
      progress: 'won',
      page: `/operator/leads/${first?.id}`,
    });
    await change(`/operator/leads/${first?.id}/note`, 'noted', { note: EVIL, page: '/operator/leads' });
    await change(`/operator/leads/${first?.id}/note`, 'note too long', {
      note: 'x'.repeat(5_000),
      page: '/operator/leads',
    });
    await change('/operator/leads/bulk', 'several marked', {
      do: 'spam',
      id: String(first?.id),
      page: '/operator/leads',
    });
    await change('/operator/agents', 'refused', { do: 'issue', name: EVIL });
    await change('/operator/agents', 'issued', { do: 'issue', name: 'bee', label: EVIL, scope: 'lead:preview' });
    await open('/operator/agents?revoke=bee');
  }
}
