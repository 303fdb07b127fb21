/** Preloaded by a test: says at the end of the process which modules of Node.js itself it had loaded. */
const { moduleLoadList } = process as unknown as { moduleLoadList: string[] };

process.on('exit', () => process.stdout.write(`builtins: ${moduleLoadList.join(', ')}\n`));
