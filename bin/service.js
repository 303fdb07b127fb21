// The entry of every command. Any version of Node.js must be able to parse this file, so it is plain old JavaScript. An
// old Node.js then prints a sentence with the remedy instead of a stack trace.
(() => {
  // This disables the debugger, which Node.js opens at this signal by default. Programs that rotate logs send it
  // (reference §20.6 rule 9). Until this line, `--disable-sigusr1` does the same. An old Node.js has no such option.
  process.on('SIGUSR1', () => {});

  var LEAST_MAJOR = 26;

  var commands = {
    start: () => import('../src/main.ts'),
    credentials: () => import('../src/commands/credentials.ts'),
    inbox: () => import('../src/commands/inbox/inbox.ts'),
    subscribers: () => import('../src/commands/subscribers.ts'),
    erase: () => import('../src/commands/erase.ts'),
    backup: () => import('../src/commands/backup.ts'),
    restore: () => import('../src/commands/restore.ts'),
    settings: () => import('../src/commands/settings.ts'),
    doctor: () => import('../src/commands/doctor/doctor.ts'),
    'verify-receipt': () => import('../src/commands/verify-receipt.ts'),
    operator: () => import('../src/commands/operator.ts'),
    demo: () => import('../src/commands/demo/demo.ts'),
  };

  function fail(sentence) {
    process.stderr.write(`${sentence}\n`);
    process.exitCode = 1;
  }

  if (parseInt(process.versions.node, 10) < LEAST_MAJOR) {
    fail(
      `This is Node.js ${process.versions.node}, but the service needs Node.js ${LEAST_MAJOR}: run \`npm ci\`, then \`npm start\`, and if npm blocks install scripts, also \`npm rebuild node\` or \`npm ci --ignore-scripts=false\`.`,
    );
    return;
  }

  var name = process.argv[2];
  var given = process.argv.slice(3);
  var load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  // The service takes no arguments, because its settings are in the environment.
  if (load === undefined || (name === 'start' && given.length > 0)) {
    load = () => import('../src/commands/service.ts');
    given = process.argv.slice(2);
  }

  // Node.js stores what it compiled for the next start, if this folder can be written.
  process
    .getBuiltinModule('node:module')
    .enableCompileCache(`${import.meta.dirname}/../node_modules/.cache/lead-intake`);

  load().then(
    (command) => {
      // src/main.ts starts when it is loaded. All other commands export `run`.
      if (command.run) return command.run(given);
    },
    (error) => {
      if (error.code === 'ERR_MODULE_NOT_FOUND') {
        fail('A package is missing, so run `npm ci` first.');
      } else {
        fail(`The command did not load: ${error.message}`);
      }
    },
  );
})();
