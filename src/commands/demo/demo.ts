/** `npm run demo`: sends the requests of an agent (reference §5) and a browser (reference §4) to a running service. */
import { exampleFields, type Form, forms } from '../../forms/catalog.ts';
import { randomSecret } from '../../platform/random.ts';
import { pages, pathsOfPage, pathTo, routes } from '../../routes.ts';
import { localFiles } from '../../start/first-run.ts';
import { isThisMachine, readToken, serviceUrlOf } from '../arguments.ts';
import { type Call, runnerOf } from '../command-line.ts';
import { loadSettings } from '../open-store.ts';
import { outage } from './outage.ts';
import { openStory, type Step, type Story, waitForMails } from './story.ts';

const MAIL_WITHIN_MS = 5_000;

export const run = runnerOf({
  invocation: 'npm run demo --',
  description: 'Sends the requests of an agent and a browser to a running service, and explains each answer.',
  examples: [
    'npm run demo',
    'npm run demo -- --url http://127.0.0.1:4000 --token-file ./token',
    'npm run --silent demo -- --json',
    'npm run demo -- outage',
  ],
  subcommands: {
    '': {
      description: 'Send one execution, three leads and a subscription with sample data',
      options: {
        '--url URL': 'address of the service (default: BASE_URL)',
        '--token-file FILE': 'file with an agent token that has both scopes (default: DATA_DIR/agent-token)',
        '--yes': 'continue even if sample data goes to another machine',
      },
      run: demonstrate,
    },
    outage: {
      description:
        'Start a separate service, and stop and restart its upstream. Each submission is stored and arrives once. This takes about 90 seconds.',
      run: outage,
    },
  },
});

async function demonstrate({ terminal, text, flag }: Call): Promise<void> {
  const { baseUrl, upstream, mail, dataDir } = loadSettings().settings;
  const url = serviceUrlOf(text('url') ?? baseUrl);
  const isOurs = url === serviceUrlOf(baseUrl);
  if (!isThisMachine(new URL(url).hostname) || (isOurs && upstream.kind === 'http')) {
    const question = `The sample data goes through ${url} to the receiver of its leads. Send the data?`;
    if (!(await terminal.confirm(question, flag('yes')))) return terminal.say('Nothing was sent.');
  }
  const story = openStory(terminal, url, `As an agent, at ${url}`);
  await actAsAgent(story, text('token-file') ?? localFiles(dataDir).token);
  story.begin('As a browser');
  await actAsBrowser(story, isOurs && mail.kind === 'files' ? mail.folder : undefined);
  if (terminal.json) return;
  terminal.print('Every step got the expected answer.');
  if (isOurs && upstream.kind === 'inbox') terminal.print('To see the submissions: npm run inbox -- list');
}

const randomName = (bytes: number) => `demo-${randomSecret(bytes).toString('hex')}`;

/** Reads the manifest, previews, executes once, and sends requests that the service must refuse. */
async function actAsAgent({ tell }: Story, tokenFile: string): Promise<void> {
  const { name: action } = forms.homeowner_quote;
  await tell('Read the manifest: what can be done here?', {
    path: routes.getWellKnownManifest.path,
    answer: [200, `"action":"${action}"`],
    means: ({ body }) => [`Version ${body.version}, with the actions ${Object.keys(forms).join(', ')}.`],
  });
  const authorization = `Bearer ${readToken(tokenFile)}`;
  const preview = async (does: string, means: Step['means']) => {
    const path = pathTo(routes.previewAction, { action });
    const json = exampleFields(forms.homeowner_quote);
    return (await tell(does, { path, headers: { authorization }, json, answer: [200, '"preview_id":"'], means })).body;
  };
  const path = pathTo(routes.executeAction, { action });
  const execute = (does: string, key: string, json: object, expected: Pick<Step, 'answer' | 'means'>) => {
    const headers = { authorization, 'idempotency-key': key };
    return tell(does, { path, headers, json, shows: `Idempotency-Key: ${key}`, ...expected });
  };
  const { preview_id, confirmation_statement } = await preview('Ask for a preview', ({ body }) => {
    const shown = Object.entries({ ...Object(body.fields), 'goes to': body.destination });
    const lines = shown.map(([name, value]) => `  ${name.padEnd(14)}${value}`);
    const intro = 'Checked and normalized, and sent to nobody yet. The agent shows the person this:';
    return [intro, ...lines, `  “${body.confirmation_statement}”`];
  });
  const yes = { preview_id, confirmation: true, confirmation_text: confirmation_statement };
  const otherWords = { ...yes, confirmation_text: 'Yes, go ahead.' };
  const key = randomName(8);
  await execute('Execute with other words than the statement', key, otherWords, {
    answer: [409, 'has not confirmed'],
    means: 'Not confirmed: nothing was sent, and the preview is still valid.',
  });
  const sent = await execute('Execute with the exact statement: the person said yes', key, yes, {
    answer: [200, '"status":"submitted"'],
    means: ({ body }) => [`Submitted. Store the receipt: ${body.receipt?.action_id}.`],
  });
  await execute('Send the same once more, as after a lost answer', key, yes, {
    answer: [200, JSON.stringify({ ...sent.body, replay: true })],
    means: 'A replay: the same receipt again, and nothing was sent a second time.',
  });
  await execute('Execute the same preview under another key', randomName(8), yes, {
    answer: [409, 'preview_already_used'],
    means: 'preview_already_used: one confirmation allows one submission.',
  });
  const means = 'A new request of the person, with a confirmation of its own.';
  const second = { ...yes, preview_id: (await preview('Ask for a second preview', means)).preview_id };
  await execute('Execute it under the key of the first', key, second, {
    answer: [409, 'idempotency_conflict'],
    means: 'idempotency_conflict: a key belongs to one request. Nothing was sent.',
  });
}

/** Opens a page, subscribes, waits for the e-mail, and sends a lead in each encoding. */
async function actAsBrowser({ tell, note }: Story, mailFolder: string | undefined): Promise<void> {
  await tell('Open a page with a form', {
    path: pathsOfPage(forms.newsletter.page).path,
    answer: [200, `action="${routes.subscribeNewsletter.path}"`],
    means: 'Plain HTML: the form works without JavaScript, cookies or another origin.',
  });
  const answer: Step['answer'] = [303, pages.thankYou.path];
  // A new address each time, because an address gets one confirmation message in 24 hours.
  const email = `${randomName(4)}@example.com`;
  await tell('Subscribe to the newsletter', {
    path: routes.subscribeNewsletter.path,
    form: new URLSearchParams({ email, privacy: 'yes' }),
    shows: 'urlencoded',
    answer,
    means: `On to ${pages.thankYou.path}. An address that is on the list already gets the same answer.`,
  });
  note('Find the e-mail of the subscription', ...(await findMail(mailFolder, email)));
  const { path } = routes.submitLead;
  const fieldsOf = (form: Form) => ({ form: form.name, ...exampleFields(form) });
  await tell('Send a request for a quote, as a script of a page would', {
    path,
    json: fieldsOf(forms.homeowner_quote),
    shows: 'JSON',
    answer: [200, '"ok":true'],
    means: 'Accepted. The recipient is chosen by the service, never by the caller.',
  });
  const means = `Accepted, and on to ${pages.thankYou.path}.`;
  let form: URLSearchParams | FormData = new URLSearchParams(fieldsOf(forms.contractor_signup));
  await tell('Send a request for a walkthrough, as a form does', { path, form, shows: 'urlencoded', answer, means });
  form = new FormData();
  for (const [name, value] of Object.entries(fieldsOf(forms.contact))) form.set(name, value);
  await tell('Send a message, as a multipart form', { path, form, shows: 'multipart', answer, means });
}

async function findMail(folder: string | undefined, address: string): Promise<string[]> {
  if (folder === undefined) return ['It goes to example.com, where nobody reads it.'];
  const fault = `${folder} has no e-mail to the new subscriber. Check that the service and this command use the same settings.`;
  const [[path = '', ...headers] = []] = await waitForMails(folder, address, MAIL_WITHIN_MS, fault);
  return [path, ...headers.map((line) => `  ${line}`)];
}
