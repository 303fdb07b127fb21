/** Loaded before the service (`node --import`): SIGWINCH says how long its event loop stood still. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();

process.on('SIGWINCH', () => {
  process.stdout.write(`${JSON.stringify({ stoodStillMs: delay.max / 1e6 })}\n`);
  delay.reset();
});
