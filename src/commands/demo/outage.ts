/**
 * `npm run demo -- outage`: a service of its own, whose upstream dies and comes back. Nobody's lead is lost or
 * arrives twice (beyond §1, §2).
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../clock.ts';
import { forms } from '../../forms/catalog.ts';
import { exampleFields } from '../../forms/examples.ts';
import { pathTo, routes } from '../../routes.ts';
import { localFiles } from '../../start/first-run.ts';
import type { Call } from '../command.ts';
import { ExitFault } from '../faults.ts';
import { messagesTo } from './mail-folder.ts';
import { startOutageService } from './outage-service.ts';
import { openStory, type Reply, type Story } from './story.ts';

const OPERATOR = 'operator@example.com';
const PEOPLE = ['Ada', 'Grace', 'Edsger', 'Barbara', 'Donald'];
/** Whoever is unsure and sends the same again. */
const TWICE = ['Grace', 'Donald'];

/** The first redelivery comes after a minute, a tenth more or less, and is looked for every five seconds. */
const ARRIVE_WITHIN_MS = 120_000;
const LOOK_EVERY_MS = 500;

/** Runs the whole outage, in about a minute and a half; throws `ExitFault` where something is not as promised. */
export async function outage({ terminal }: Call): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'outage-'));
  const service = await startOutageService(folder, OPERATOR);
  try {
    const { upstream, url } = service;
    const story = openStory(terminal, url);
    story.chapter(`A service of its own at ${url}, its upstream at ${upstream.url}`);
    await sendLead(story, 'Vera', 1, { status: 200 });
    upstream.die();
    story.note('The upstream dies', ['Nothing listens there any more.']);
    const references: string[] = [];
    for (const [index, name] of PEOPLE.entries()) {
      const { headers } = await sendLead(story, name, index + 2, { status: 502 });
      references.push(String(headers.get('submission-reference')));
    }
    for (const name of TWICE) {
      const index = PEOPLE.indexOf(name);
      const reference = references[index];
      await sendLead(story, name, index + 2, { status: 502, reference });
    }
    const agents = await failToExecute(story, folder);
    await upstream.comeBack();
    story.note('The upstream comes back', [
      'What waits is sent again by itself: for the first time after a minute. Please wait.',
    ]);
    await untilArrived(upstream.arrivals, references);
    const alerts = await untilTold(service.mailFolder);
    tell(story, { arrivals: upstream.arrivals(), references, agents, alerts });
    if (!terminal.json) terminal.print('Nothing was lost, and nothing arrived twice.');
  } finally {
    await service.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function sendLead(
  story: Story,
  name: string,
  number: number,
  wanted: { status: number; reference?: string | undefined },
): Promise<Reply> {
  const fields = {
    ...exampleFields(forms.contact),
    name,
    email: `${name.toLowerCase()}@example.com`,
  };
  return await story.tell({
    does: wanted.reference === undefined ? `${name} sends a message` : `${name} sends it once more`,
    method: 'POST',
    path: routes.submitLead.path,
    // Somebody else's connection: a rate limit is each person's own.
    headers: { 'content-type': 'application/json', 'x-forwarded-for': `198.51.100.${number}` },
    body: JSON.stringify({ form: forms.contact.name, ...fields }),
    status: wanted.status,
    holds: ({ headers }) => {
      const reference = headers.get('submission-reference');
      return reference !== null && reference === (wanted.reference ?? reference);
    },
    means: ({ headers, body }) => [
      ...(typeof body.error === 'string' ? [`“${body.error}”`] : ['It arrived.']),
      `Reference ${headers.get('submission-reference')}${wanted.reference === undefined ? '.' : ', the same.'}`,
    ],
  });
}

/** Returns the `action_id` of what failed. */
async function failToExecute(story: Story, folder: string): Promise<string> {
  const form = forms.homeowner_quote;
  const token = readFileSync(localFiles(folder).token, 'utf8').trim();
  const headers = { authorization: `Bearer ${token}` };
  const { body } = await story.tell({
    does: 'An agent previews',
    method: 'POST',
    path: pathTo(routes.previewAction, { action: form.name }),
    headers,
    body: JSON.stringify(exampleFields(form)),
    status: 200,
    means: ['It shows its person what would be sent, and they say yes.'],
  });
  const executed = await story.tell({
    does: 'It executes',
    method: 'POST',
    path: pathTo(routes.executeAction, { action: form.name }),
    headers: { ...headers, 'idempotency-key': 'outage' },
    body: JSON.stringify({
      preview_id: body.preview_id,
      confirmation: true,
      confirmation_text: body.confirmation_statement,
    }),
    status: 502,
    means: ['A failed receipt: the person is asked anew, so nobody sends this one again.'],
  });
  return String((executed.body.receipt as { action_id?: unknown } | undefined)?.action_id);
}

async function untilArrived(
  arrivals: () => readonly string[],
  references: readonly string[],
): Promise<void> {
  for (let waited = 0; waited <= ARRIVE_WITHIN_MS; waited += LOOK_EVERY_MS) {
    const arrived = arrivals();
    if (references.every((reference) => arrived.includes(reference))) return;
    await systemClock.sleep(LOOK_EVERY_MS);
  }
  throw new ExitFault(`Not everything has arrived after ${ARRIVE_WITHIN_MS / 1000} s.`);
}

/** The subjects of what the operator was told; the last comes a moment after the first arrival. */
async function untilTold(mailFolder: string): Promise<string[]> {
  for (let waited = 0; waited <= ARRIVE_WITHIN_MS / 10; waited += LOOK_EVERY_MS) {
    const subjects = messagesTo(mailFolder, OPERATOR);
    if (subjects.length >= 2) return subjects;
    await systemClock.sleep(LOOK_EVERY_MS);
  }
  throw new ExitFault('The operator was not told of the outage and of its end.');
}

function tell(
  story: Story,
  seen: { arrivals: readonly string[]; references: string[]; agents: string; alerts: string[] },
): void {
  const times = (id: string) => seen.arrivals.filter((arrived) => arrived === id).length;
  const rows = PEOPLE.map((name, index) => [name, times(seen.references[index] ?? '')] as const);
  const wrong = rows.filter(([, count]) => count !== 1);
  story.note('What has arrived', [
    ...rows.map(([name, count]) => `${name.padEnd(10)}${count} time${count === 1 ? '' : 's'}`),
    `${'the agent'.padEnd(10)}${times(seen.agents)} times`,
  ]);
  story.note('What the operator was told', seen.alerts);
  if (wrong.length > 0 || times(seen.agents) > 0 || seen.alerts.length !== 2) {
    throw new ExitFault('Something is not as it was promised.');
  }
}
