/** Preloaded by a test: says which packages the process loads, each file of them. */
import { registerHooks } from 'node:module';

registerHooks({
  load(url, context, nextLoad) {
    if (url.includes('/node_modules/')) process.stdout.write(`loaded ${url}\n`);
    return nextLoad(url, context);
  },
});
