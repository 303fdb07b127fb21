// The one entry to every command. Whatever Node.js the machine has must be able to read this file,
// so it is plain old JavaScript: an old Node gets a sentence with the remedy, not a stack trace.
(() => {
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
      `This is Node.js ${process.versions.node}, and the service needs ${LEAST_MAJOR}: \`npm ci\` brings it as a dependency, and npm puts it first (\`npm start\`); where install scripts are blocked, run \`npm rebuild node\` or \`npm ci --ignore-scripts=false\`.`,
    );
    return;
  }

  var name = process.argv[2];
  var given = process.argv.slice(3);
  var load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  // The service itself takes no arguments: its settings are in the environment.
  if (load === undefined || (name === 'start' && given.length > 0)) {
    load = () => import('../src/commands/service.ts');
    given = process.argv.slice(2);
  }

  var loading = process.getBuiltinModule('node:module');
  // What was compiled is kept for the next start, where this folder can be written.
  loading.enableCompileCache(`${import.meta.dirname}/../node_modules/.cache/lead-intake`);

  // The two packages load these for what is never done here: to serve TLS is a proxy's work, and HTTP/2 is not spoken.
  // They are a twentieth of a start, and 5 MB.
  var askingInVain = /\/node_modules\/(?:fastify|undici)\/lib\//;
  var unused = {
    url: new URL('unused.cjs', import.meta.url).href,
    format: 'commonjs',
    shortCircuit: true,
  };

  // What stands beside a module need not be looked for: an ES module names the file, a CommonJS module leaves `.js` out.
  // Node.js's look for all of them was a sixth of a start, and left 7 MB behind (docs/performance.md, What was tried).
  var fs = process.getBuiltinModule('node:fs');
  var isBeside = /^\.{1,2}\//;
  var namesFile = /\.(?:ts|m?js)$/;
  function fileBeside(specifier, context) {
    if (context.conditions.includes('import')) {
      return namesFile.test(specifier) ? new URL(specifier, context.parentURL) : undefined;
    }
    var file = new URL(
      namesFile.test(specifier) ? specifier : `${specifier}.js`,
      context.parentURL,
    );
    return fs.existsSync(file) ? file : undefined;
  }

  loading.registerHooks({
    resolve(specifier, context, next) {
      if (/^node:http(?:s|2)$/.test(specifier) && askingInVain.test(context.parentURL))
        return unused;
      if (specifier.startsWith('node:')) {
        return { url: specifier, format: 'builtin', shortCircuit: true };
      }
      var file = isBeside.test(specifier) ? fileBeside(specifier, context) : undefined;
      if (file === undefined) return next(specifier, context);
      return {
        url: file.href,
        // Of a package's it stands in its package.json.
        format: specifier.endsWith('.ts') ? 'module-typescript' : undefined,
        shortCircuit: true,
      };
    },
  });

  load().then(
    (command) => {
      // src/main.ts starts by being loaded; every other command is run.
      if (command.run) return command.run(given);
    },
    (error) => {
      if (error.code === 'ERR_MODULE_NOT_FOUND') {
        fail('A part of the program is not there: run `npm ci` first.');
      } else {
        fail(`The command could not be loaded: ${error.message}`);
      }
    },
  );
})();
