/** The log as a person reads it at a terminal. Each event is one line, and a stack follows its error. */
import { styleText } from 'node:util';

type Event = {
  level: string;
  time: string;
  msg?: string;
  err?: { stack?: string };
  [fact: string]: unknown;
};

const LEVEL_STYLE = { warn: 'yellow', error: 'red', fatal: 'red' } as const;

/** Returns the text for a line of the JSON log. Its colours follow `NO_COLOR` and the abilities of standard output. */
export function terminalLine(json: string): string {
  const { level, time, msg = '', err, ...facts }: Event = JSON.parse(json);
  const at = styleText('dim', new Date(time).toTimeString().slice(0, 8));
  if (msg === 'request') return `${at}  ${requestOf(facts)}\n`;
  const style = LEVEL_STYLE[level as keyof typeof LEVEL_STYLE];
  const words = style === undefined ? msg : styleText(style, `${level}: ${msg}`);
  const named = Object.entries(facts).map(([name, value]) => `  ${name}=${JSON.stringify(value)}`);
  const stack = err === undefined ? '' : `${err.stack ?? JSON.stringify(err)}\n`;
  return `${at}  ${words}${named.join('')}\n${stack}`;
}

function requestOf({ method, route, status, ms }: Record<string, unknown>): string {
  const style = Number(status) < 400 ? 'green' : Number(status) < 500 ? 'yellow' : 'red';
  return `${method} ${route}  ${styleText(style, String(status))}  ${Math.round(Number(ms))} ms`;
}
