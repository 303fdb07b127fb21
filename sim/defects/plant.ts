/**
 * Edits the sources as they are loaded, to plant the defect that SIM_DEFECT names. It is imported before the simulator.
 */
import { registerHooks } from 'node:module';
import { defects } from './defects.ts';

const defect = defects.find(({ name }) => name === process.env.SIM_DEFECT);
if (defect === undefined) throw new Error('SIM_DEFECT names no defect.');

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const edits = defect.edits.filter(({ file }) => url.endsWith(file));
    if (edits.length === 0) return loaded;
    let text = String(loaded.source);
    for (const { file, find, replace } of edits) {
      if (text.split(find).length !== 2) throw new Error(`${file} has not exactly one: ${find}`);
      text = text.replace(find, () => replace);
    }
    return { ...loaded, source: text };
  },
});
