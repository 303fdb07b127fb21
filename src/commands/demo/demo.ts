/** `npm run demo`: drives a running service as an agent and a browser would (contract §1). */
import { readFileSync } from 'node:fs';
import type { Settings } from '../../settings/settings.ts';
import { localFiles } from '../../start/first-run.ts';
import type { Call } from '../command.ts';
import { runnerOf } from '../command-line.ts';
import { loadSettings } from '../configuration.ts';
import { ExitFault, UsageFault } from '../faults.ts';
import { actAsAgent, discover } from './agent.ts';
import { actAsBrowser, type MailPlace } from './browser.ts';
import { outage } from './outage.ts';
import { openStory } from './story.ts';

export const run = runnerOf({
  invocation: 'npm run demo --',
  meaning:
    'Drives a running service as an agent and a browser would, for real, and tells what happened.',
  examples: [
    'npm run demo',
    'npm run demo -- --url http://127.0.0.1:4000 --token-file ./token',
    'npm run --silent demo -- --json',
    'npm run demo -- outage',
  ],
  actions: {
    '': {
      meaning: 'one execution, three leads and a subscription, with sample data',
      options: {
        url: { type: 'string', value: 'URL', meaning: 'where the service is (BASE_URL)' },
        'token-file': {
          type: 'string',
          value: 'FILE',
          meaning: 'holds an agent credential with both scopes (DATA_DIR/agent-token)',
        },
        yes: { type: 'boolean', meaning: 'go on where the sample data leaves this machine' },
      },
      run: demonstrate,
    },
    outage: {
      meaning:
        'starts a service of its own, whose upstream dies and comes back: what people sent is kept and arrives once (about a minute and a half)',
      run: outage,
    },
  },
});

async function demonstrate(call: Call): Promise<void> {
  const { terminal } = call;
  const { settings } = loadSettings();
  const url = urlOf(call.text('url') ?? settings.baseUrl);
  const isOurs = url === urlOf(settings.baseUrl);
  if (!isOnThisMachine(url) || (isOurs && settings.upstream.kind === 'http')) {
    const question = `The sample data goes through ${url} to whoever receives its leads. Send it?`;
    if (!(await terminal.confirm(question, call.flag('yes')))) {
      return terminal.say('Nothing was sent.');
    }
  }
  const story = openStory(terminal, url);
  story.chapter(`As an agent, at ${url}`);
  await discover(story);
  await actAsAgent(story, tokenOf(call.text('token-file') ?? localFiles(settings.dataDir).token));
  story.chapter('As a browser');
  await actAsBrowser(story, mailPlaceOf(settings, isOurs));
  if (terminal.json) return;
  terminal.print('Every step was answered as it should be.');
  if (isOurs && settings.upstream.kind === 'inbox') {
    terminal.print('What arrived: npm run inbox -- list');
  }
}

function urlOf(text: string): string {
  const url = URL.parse(text);
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (url === null || !isWeb || url.username !== '' || url.password !== '') {
    throw new UsageFault('--url must be an http:// or https:// address without a user name.');
  }
  return `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, '')}`;
}

function isOnThisMachine(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}

/** The token itself is in no message: a file may hold anything. */
function tokenOf(path: string): string {
  let token: string;
  try {
    token = readFileSync(path, 'utf8').trim();
  } catch {
    throw new ExitFault(
      `There is no token to read in ${path}: \`npm start\` in local mode makes one there, and --token-file names another.`,
    );
  }
  if (/^[!-~]+$/.test(token)) return token;
  throw new ExitFault(`What is in ${path} is not a token.`);
}

function mailPlaceOf({ mail }: Settings, isOurs: boolean): MailPlace {
  if (isOurs && mail.kind === 'files') return { folder: mail.folder };
  return {
    elsewhere: isOurs
      ? 'It goes out through SMTP_URL, to an address in example.com that nobody reads.'
      : 'It is where that service sends its mail; this command can’t see it.',
  };
}
