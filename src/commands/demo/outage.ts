/** `npm run demo -- outage`: the upstream of a service fails and returns (reference §10.9, §11.6). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { exampleFields, forms } from '../../forms/catalog.ts';
import { projectFile } from '../../project.ts';
import { routes } from '../../routes.ts';
import { localFiles } from '../../start/first-run.ts';
import { ExitFault } from '../command-errors.ts';
import type { Call } from '../command-line.ts';
import { openStory, type Step, type Story, waitForMails } from './story.ts';

const REFERENCE = 'submission-reference';
const OPERATOR = 'operator@example.com';
/** Grace and Donald send the same message again. Each initial is unique. */
const SENDERS = ['Ada', 'Grace', 'Edsger', 'Barbara', 'Donald', 'Grace', 'Donald'];
/** Limit for the end of the outage. The first redelivery comes after a minute (± 10 %), and then the all-clear. */
const OVER_WITHIN_MS = 120_000;

/** Starts a service of its own and demonstrates an outage. Throws `ExitFault` if a lead is lost or arrives twice. */
export async function outage({ terminal }: Call): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'outage-'));
  const arrivals: string[] = [];
  const upstream = createServer((request, response) => {
    arrivals.push(String(request.headers['webhook-id']));
    response.end('{}');
  });
  const upstreamPort = await listen(upstream);
  const spare = createServer();
  const port = await listen(spare);
  spare.close();
  const url = `http://127.0.0.1:${port}`;
  const service = run('bin/service.js', ['start'], folder, {
    PORT: String(port),
    DATA_DIR: folder,
    UPSTREAM_URL: `http://127.0.0.1:${upstreamPort}`,
    UPSTREAM_TIMEOUT_MS: '1000',
    ALERT_EMAIL: OPERATOR,
    // A header gives each person a client address.
    TRUST_PROXY: '127.0.0.1',
    LOG_LEVEL: 'silent',
  });
  createInterface({ input: service.stderr }).on('line', (line) => terminal.say(line));
  try {
    // The first line of the service's output says that it listens.
    await Promise.race([once(service.stdout, 'data'), once(service, 'exit')]);
    if (service.exitCode !== null) throw new ExitFault('The service of the outage did not start.');
    const title = `A service of its own at ${url}, its upstream at http://127.0.0.1:${upstreamPort}`;
    const story = openStory(terminal, url, title);
    await sendLead(story, 'Vera', [200, '"ok":true']);
    upstream.close();
    upstream.closeAllConnections();
    story.note('The upstream dies', 'Nothing listens there any more.');
    arrivals.length = 0;
    const references = new Map<string, string>();
    for (const name of SENDERS) {
      references.set(name, await sendLead(story, name, [502, 'error'], references.get(name)));
    }
    const { name: action } = forms.homeowner_quote;
    const fields = Object.entries(exampleFields(forms.homeowner_quote)).map((field) => field.join('='));
    const environment = { BASE_URL: url, TOKEN_FILE: localFiles(folder).token };
    const agent = run('examples/agent.ts', ['--yes', action, ...fields], folder, environment);
    story.note(
      'An agent previews and executes: examples/agent.ts',
      ...(await text(agent.stderr)).trimEnd().split('\n'),
      'The receipt says failed. The agent must ask the person again, so the service does not retry this submission.',
    );
    await listen(upstream, upstreamPort);
    const redelivery =
      'The service retries waiting submissions automatically, for the first time after a minute. Please wait.';
    story.note('The upstream comes back', redelivery);
    const sent = [...references.values()];
    const isOver = (count: number) => count > 1 && sent.every((id) => arrivals.includes(id));
    const fault = 'The outage is not over after two minutes.';
    const alerts = await waitForMails(join(folder, 'mail'), OPERATOR, OVER_WITHIN_MS, fault, isOver);
    const counts = [...references, ['the agent', undefined]].map(([name, own]) => {
      const { length } = arrivals.filter((id) => (own === undefined ? !sent.includes(id) : id === own));
      return `${name?.padEnd(10)}${length} time${length === 1 ? '' : 's'}`;
    });
    story.note('Arrivals at the upstream', ...counts);
    const subjects = alerts.map(([, , , subject = '']) => subject.replace('Subject: ', ''));
    story.note('Alerts to the operator', ...subjects);
    // Each submission has arrived, so a further arrival is a duplicate or comes from the agent.
    if (arrivals.length !== sent.length || alerts.length !== 2) {
      throw new ExitFault('A submission arrived twice, or the number of alerts is wrong.');
    }
    if (!terminal.json) terminal.print('Nothing was lost, and nothing arrived twice.');
  } finally {
    upstream.close();
    if (service.kill()) await once(service, 'exit');
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Starts a program of the project with only these settings. */
function run(program: string, args: string[], cwd: string, env: Record<string, string>) {
  return spawn(process.execPath, [fileURLToPath(projectFile(program)), ...args], { cwd, env });
}

/** Sends a lead. Returns the reference of the submission. `again` is the reference of the first try. */
async function sendLead(story: Story, name: string, answer: Step['answer'], again?: string) {
  const email = `${name.toLowerCase()}@example.com`;
  const { headers } = await story.tell(`${name} sends ${again === undefined ? 'a message' : 'it once more'}`, {
    path: routes.submitLead.path,
    // The rate limit counts by client address.
    headers: { 'x-forwarded-for': `198.51.100.${name.charCodeAt(0)}` },
    json: { form: forms.contact.name, ...exampleFields(forms.contact), name, email },
    answer,
    means: ({ headers, body }) => [
      typeof body.error === 'string' ? `“${body.error}”` : 'It arrived.',
      `Reference ${headers.get(REFERENCE)}${headers.get(REFERENCE) === again ? ', the same.' : '.'}`,
    ],
  });
  return String(headers.get(REFERENCE));
}

async function listen(server: Server, port = 0): Promise<number> {
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}
