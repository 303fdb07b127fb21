/** What is wanted of `node:http` at run time: an import of it would load Node's `fetch`, 14 ms of a start (docs/performance.md). */
export const { ServerResponse, STATUS_CODES } = process.getBuiltinModule('node:http');
