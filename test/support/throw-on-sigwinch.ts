/** Preloaded module in which SIGWINCH causes an uncaught exception and an unhandled rejection, in turn. */
let count = 0;
process.on('SIGWINCH', () => {
  count += 1;
  const error = new Error(`planted ${count}`);
  if (count % 2 === 1) throw error;
  void Promise.reject(error);
});
