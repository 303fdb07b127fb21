/** Preloaded by a test: what a start leaves for later comes with SIGWINCH instead, and says when it is done. */

/** How long the start leaves it; nothing else waits so long. In milliseconds. */
const LATER_MS = 500;

const wait = globalThis.setTimeout;

globalThis.setTimeout = Object.assign((run: () => void, ms?: number, ...given: []) => {
  if (ms !== LATER_MS) return wait(run, ms, ...given);
  process.once('SIGWINCH', () => {
    run();
    process.stdout.write('{"msg":"what was left for later is done"}\n');
  });
  return wait(() => {}, ms);
}, wait);
