/** Preloaded module that prints each loaded file of a package, of the console or of OAuth. */
import { registerHooks } from 'node:module';

registerHooks({
  load(url, context, nextLoad) {
    if (/\/node_modules\/|\/src\/(?:console|oauth)\//.test(url)) process.stdout.write(`loaded ${url}\n`);
    return nextLoad(url, context);
  },
});
