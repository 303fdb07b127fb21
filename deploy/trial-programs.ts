/** What `trial.ts` runs inside of the built root; each throws where something is not as it should be. */

export const everyDependency = `
  const { dependencies } = JSON.parse(require('node:fs').readFileSync('/app/package.json', 'utf8'));
  (async () => {
    for (const name of Object.keys(dependencies)) if (name !== 'node') await import(name);
  })();
`;
export const cannotWrite = `
  const { writeFileSync, rmSync } = require('node:fs');
  const fails = (path) => {
    try { writeFileSync(path, ''); } catch (error) { return error.code === 'EROFS'; }
    return false;
  };
  if (!fails('/app/file') || !fails('/file')) throw new Error('The root can be written.');
  writeFileSync('/data/file', '');
  rmSync('/data/file');
`;
export const compiledAtTheBuild = `
  const { enableCompileCache, constants } = require('node:module');
  const { accessSync, readdirSync } = require('node:fs');
  const { status, directory, message } = enableCompileCache('/app/node_modules/.cache/lead-intake');
  if (status !== constants.compileCacheStatus.ENABLED) throw new Error('It is not read: ' + message);
  if (readdirSync(directory, { recursive: true }).length < 200) throw new Error('The build compiled only a part.');
  try { accessSync(directory, 2); } catch (error) { process.exit(0); }
  throw new Error('It can be written.');
`;

/** What a program in the service could do that is not ours; each has to be refused. */
export const doors = `
  const { readFileSync, writeFileSync } = require('node:fs');
  const doors = {
    'reading /etc': () => readFileSync('/etc/nsswitch.conf'),
    'writing outside the volume': () => writeFileSync('/tmp-file', ''),
    'a process': () => require('node:child_process').spawnSync('/app/node_modules/node/bin/node', ['-v']),
    'a thread': () => new (require('node:worker_threads').Worker)('1', { eval: true }),
    'an add-on': () => process.dlopen({ exports: {} }, '/data/a.node'),
  };
  const open = Object.keys(doors).filter((name) => {
    try { doors[name](); } catch (error) { return error.code !== 'ERR_ACCESS_DENIED' && error.code !== 'ERR_DLOPEN_DISABLED'; }
    return true;
  });
  if ('__proto__' in {}) open.push('__proto__');
  if (open.length > 0) throw new Error('Not barred: ' + open.join(', '));
`;
