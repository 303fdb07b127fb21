/** Prints the longest delay of the event loop on SIGWINCH. It is loaded before the service (`node --import`). */
import { monitorEventLoopDelay } from 'node:perf_hooks';

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();

process.on('SIGWINCH', () => {
  process.stdout.write(`${JSON.stringify({ stoodStillMs: delay.max / 1e6 })}\n`);
  delay.reset();
});
