/** The operator's newest leads as a page: the session, the rows, their number, and the audit entry. */
import { hash, randomUUID } from 'node:crypto';
import { openDatabase } from './database.ts';
import type { Answer, Handle } from './http.ts';

const ROWS = 50;
const COUNTED = 10_001;
const LIST = /(<ul class="rows">).*(<\/ul>)/s;
const COOKIE = /__Host-operator=([^;]*)/;

const words = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });
const signs: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string) => text.replaceAll(/[&<>"]/g, (sign) => signs[sign] ?? sign);

type Row = { id: string; status: string; received_ms: number; event: string };

/** Returns the handler. The handler uses the service's own page and headers, and replaces the rows. */
export async function leadsPage(page: string, headers: Record<string, string>): Promise<Handle> {
  const { prepare, write } = await openDatabase();
  const session = prepare('select name from operator_sessions where digest = ?');
  const newest = prepare(`select id, status, received_ms, event from submissions
    order by received_ms desc, id desc limit ${ROWS + 1}`);
  const counted = prepare(`select count(*) as number from (select 1 from submissions limit ${COUNTED})`);
  const record = prepare(`insert into operator_audit values (?, ?, ?, 'saw_leads', ?)`);
  const [, begin = '', end = ''] = LIST.exec(page) ?? [];
  const [before = '', after = ''] = page.split(LIST.exec(page)?.[0] ?? '');

  return async (request): Promise<Answer> => {
    const [, token = ''] = COOKIE.exec(request.headers.cookie ?? '') ?? [];
    const signedIn = session.get(hash('sha256', token, 'hex'));
    if (signedIn === undefined) return { status: 404, headers, body: '' };
    const rows = newest.all() as Row[];
    const number = Number(counted.get()?.number);
    const about = JSON.stringify({ count: ROWS, filters: [] });
    const now = new Date().toISOString();
    await write(() => record.run(randomUUID(), now, String(signedIn.name), about).changes === 1);
    const list = rows.slice(0, ROWS).map(rowOf).join('\n');
    const body = `${before}${begin}${list}${end}${after}<!-- ${number} -->`;
    return { status: 200, headers, body };
  };
}

function rowOf({ id, status, received_ms, event }: Row): string {
  const { form, fields, client } = JSON.parse(event).data;
  const received = new Date(received_ms);
  return `<li>
<a href="/operator/leads/${id}"><bdi>${escaped(fields.name)}</bdi></a>
<span class="about"><bdi>${escaped(form)}</bdi> <bdi>${escaped(fields.email)}</bdi> <span>${escaped(client ?? 'Browser')}</span></span>
<span class="when"><time datetime="${received.toISOString()}">${escaped(words.format(received))}</time></span>
<span class="status ${status}">${status}</span>
</li>`;
}
