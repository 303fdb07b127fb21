/** Structured logs: one JSON line for each event, without anything that a caller sent. */
import { isoTime, systemClock } from './clock.ts';
import { lineWriter } from './log-output.ts';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export type LogLevel = (typeof LEVELS)[number];

type Facts = Readonly<Record<string, unknown>>;

/** Logs an event with its facts. The value of `err` is what was thrown. */
type LogEvent = {
  (facts: Facts, message: string): void;
  (message: string): void;
};

/** The logger that modules get. */
export type Log = Readonly<Record<'info' | 'warn' | 'error' | 'fatal', LogEvent>>;

/**
 * Opens the log. Its lines are those of `lowest` and of higher levels. Without `write`, each line is on standard output
 * before the call returns, so that a killed process loses no line.
 */
export function openLog(lowest: LogLevel, write = lineWriter(1, systemClock)): Log {
  const at = (level: LogLevel): LogEvent => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(lowest)) return () => {};
    return (facts: Facts | string, message?: string) => {
      const [own, msg] = typeof facts === 'string' ? [{}, facts] : [facts, message];
      const time = isoTime(systemClock.now().getTime());
      const head = `{"level":"${level}","time":"${time}","msg":${JSON.stringify(msg)}`;
      // One object with all properties takes twice the time, because it has another shape for each event.
      const tail = JSON.stringify('err' in own ? described(own) : own).slice(1);
      write(`${head}${tail === '}' ? '' : ','}${tail}\n`);
    };
  };
  return { info: at('info'), warn: at('warn'), error: at('error'), fatal: at('fatal') };
}

/**
 * Replaces an error by its type, messages, stacks and code, with those of its causes. Other properties of a database
 * error can contain a whole row.
 */
function described({ err, ...others }: Facts): Facts {
  if (!(err instanceof Error)) return { ...others, err: { type: typeof err } };
  const chain: Error[] = [];
  for (let each: unknown = err; each instanceof Error && !chain.includes(each); each = each.cause) chain.push(each);
  const message = chain.map((each) => each.message).join(': ');
  const stack = chain.map((each) => each.stack).join('\ncaused by: ');
  const { code }: NodeJS.ErrnoException = err;
  return { ...others, err: { type: err.constructor.name, message, stack, code } };
}
