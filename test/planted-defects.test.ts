import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { defects } from '../sim/defects/defects.ts';

const project = resolve(import.meta.dirname, '..');

test.each(defects)(
  'the source contains each text exactly once that this planted defect replaces: $name',
  ({ edits }) => {
    const texts = new Map<string, string>();
    for (const { file, find, replace } of edits) {
      const text = texts.get(file) ?? readFileSync(resolve(project, file), 'utf8');
      expect([file, find, text.split(find).length - 1]).toEqual([file, find, 1]);
      texts.set(
        file,
        text.replace(find, () => replace),
      );
    }
  },
);
