/** Preloaded by a test: says which packages the process loads, and what of the console, each file of them. */
import { registerHooks } from 'node:module';

registerHooks({
  load(url, context, nextLoad) {
    if (/\/node_modules\/|\/src\/console\//.test(url)) process.stdout.write(`loaded ${url}\n`);
    return nextLoad(url, context);
  },
});
