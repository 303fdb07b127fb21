/** Markdown mirrors of pages (reference §15.3). */
import { expect, test } from 'vitest';
import { type Form, forms } from '../../src/forms/catalog.ts';
import { renderMirror } from '../../src/site/markdown-mirror.ts';

const page = { title: 'T', description: 'D', baseUrl: 'https://paint.example' };

test('renderMirror returns title and description alone for a page without text', () => {
  expect(renderMirror({ ...page, body: '', form: undefined })).toBe('# T\n\n> D\n');
  expect(renderMirror({ ...page, body: 'Text', form: undefined })).toBe('# T\n\n> D\n\nText\n');
});

test('renderMirror ends each label with a full stop, unless it ends with a mark of its own', () => {
  const labelled = (label: string): Form => ({
    ...forms.contact,
    fields: forms.contact.fields.map((field) => ({ ...field, label })),
  });
  const meaning = (label: string) => {
    const text = renderMirror({ ...page, body: '', form: { form: labelled(label), destination: 'X' } });
    return /characters \| ([^|]*) \|/.exec(text)?.[1];
  };
  expect(['No. of rooms', 'Which room?'].map(meaning)).toEqual(['No. of rooms.', 'Which room?']);
});
