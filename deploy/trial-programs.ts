/** Programs that `trial.ts` runs inside the built root. Each throws if something is not as it should be. */

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

/** Actions of foreign code in the service. Each must be refused. */
export const doors = `
  const { readFileSync, writeFileSync } = require('node:fs');
  const doors = {
    'reading /etc': () => readFileSync('/etc/nsswitch.conf'),
    'writing outside the volume': () => writeFileSync('/tmp-file', ''),
    'a process': () => require('node:child_process').spawnSync('/app/node_modules/node/bin/node', ['-v']),
    'an add-on': () => process.dlopen({ exports: {} }, '/data/a.node'),
  };
  const open = Object.keys(doors).filter((name) => {
    try { doors[name](); } catch (error) { return error.code !== 'ERR_ACCESS_DENIED' && error.code !== 'ERR_DLOPEN_DISABLED'; }
    return true;
  });
  if ('__proto__' in {}) open.push('__proto__');
  if (open.length > 0) throw new Error('Not barred: ' + open.join(', '));
`;

/** The same actions in a thread, which has the permissions of its process. An error there ends the process. */
export const doorsOfThread = `
  new (require('node:worker_threads').Worker)(${JSON.stringify(doors)}, { eval: true });
`;
