/** Preloaded module that prints each loaded file of a package or of the console. */
import { registerHooks } from 'node:module';

registerHooks({
  load(url, context, nextLoad) {
    if (/\/node_modules\/|\/src\/console\//.test(url)) process.stdout.write(`loaded ${url}\n`);
    return nextLoad(url, context);
  },
});
