/** Preloaded by a test: each SIGWINCH causes an error that nothing catches, in turn thrown and rejected. */
let count = 0;
process.on('SIGWINCH', () => {
  count += 1;
  const error = new Error(`planted ${count}`);
  if (count % 2 === 1) throw error;
  void Promise.reject(error);
});
