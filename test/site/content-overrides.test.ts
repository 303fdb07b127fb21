/** CONTENT_DIR with the German example, and with every kind of invalid content. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { noOverrides, readContentOverrides } from '../../src/site/content-overrides.ts';
import { defaultWords } from '../../src/site/words.ts';
import { call } from '../support/agent.ts';
import { send } from '../support/mcp.ts';
import { spawnService } from '../support/process.ts';
import { type Service, startService } from '../support/service.ts';

const german = resolve(import.meta.dirname, '../../examples/content-de');

describe('CONTENT_DIR, German example', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ environment: { CONTENT_DIR: german } });
  });
  afterAll(() => service.close());
  const get = (path: string, headers = {}) => call(service, path, { method: 'GET', headers });

  test('replaces pages and marks them as German', async () => {
    const { text } = await get('/');
    expect(text).toContain('<html lang="de">');
    expect(text).toContain('<h1>Eine Anfrage. Ein\u00a0geprüfter Malerbetrieb.</h1>');
    expect(text).toContain('Ihre Anfrage geht an Vetted Painters und an niemanden sonst.');
    expect(text).toContain('Keine Cookies, kein Tracking.');
    expect((await get('/index.md')).text).toContain('## So geht es');
    expect((await get('/thank-you')).text).toContain('<a href="/contact">das Kontaktformular</a>');
  });

  test('shows the default English page in the German frame if the folder does not contain that page', async () => {
    const { text } = await get('/agents');
    expect(text).toContain('<html lang="en">');
    expect(text).toContain('<header class="masthead" lang="de" dir="ltr">');
    expect(text).toContain('<footer class="colophon" lang="de" dir="ltr">');
  });

  test('replaces labels and choices in form, mirror, manifest, tools and OpenAPI', async () => {
    const { text } = await get('/quote');
    expect(text).toContain('Vor- und Nachname');
    expect(text).toContain('value="Innen und außen"');
    expect(text).toContain('(freiwillig)');
    expect(text).not.toMatch(/Full name|Interior|\(optional\)|Your details/);
    const choices = 'Innen; Außen; Innen und außen; Schränke oder Leisten; Etwas anderes';
    expect((await get('/quote.md')).text).toContain(choices);
    const { body: manifest } = await get('/api/agent/manifest');
    const { fields } = manifest.actions[0];
    expect(fields.name.label).toBe('Vor- und Nachname');
    expect(fields.project_type.suggestions).toEqual(choices.split('; '));
    const { tools } = (await send(service, 'tools/list')).body.result;
    expect(tools[0].inputSchema.properties.name.description).toMatch('Vor- und Nachname');
    const { body: openapi } = await get('/openapi.json');
    const schema = openapi.components.schemas.HomeownerQuoteFields;
    expect(schema.properties.project_type.description).toMatch('Innen, Außen');
  });

  test('appends the colours of the folder to the default stylesheet and replaces the default logo', async () => {
    const own = readFileSync(join(german, 'site.css'), 'utf8');
    const { text } = await get('/');
    expect(text).toContain(`${own}</style>`);
    const missing = await call(service, '/missing', { headers: { accept: 'text/html' } });
    const css = /<link rel="stylesheet" href="([^"]+)">/.exec(missing.text)?.[1] ?? '';
    const served = await get(css);
    expect(served.text.endsWith(own)).toBe(true);
    expect(served.text.length).toBeGreaterThan(own.length + 5_000);
    expect(served.headers.get('cache-control')).toMatch('immutable');
    const icon = /<link rel="icon" type="image\/svg\+xml" href="([^"]+)">/.exec(text)?.[1] ?? '';
    expect((await get(icon)).text).toBe(readFileSync(join(german, 'logo.svg'), 'utf8'));
    expect(text).toContain(`<img src="${icon}"`);
    expect((await get('/favicon.ico')).headers.get('location')).toBe(icon);
  });

  test('allows the inlined site.css by its digest and escapes a closing style tag in site.css', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'content-'));
    writeFileSync(join(folder, 'site.css'), '.a::after { content: "</STYLE><b>" }\n');
    const other = await startService({ environment: { CONTENT_DIR: folder } });
    const { text, headers } = await call(other, '/', { method: 'GET' });
    const rules = /<style>(.*?)<\/style>/is.exec(text)?.[1] ?? '';
    expect(rules.endsWith('content: "<\\/STYLE><b>" }\n')).toBe(true);
    const digest = createHash('sha256').update(rules).digest('base64');
    expect(headers.get('content-security-policy')).toContain(`style-src 'self' 'sha256-${digest}'`);
    await other.close();
    rmSync(folder, { recursive: true });
  });

  test('returns the pages for a refused form and a missing page in German', async () => {
    const refused = await call(service, '/api/leads', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'form=homeowner_quote&name=Ada&email=ada&project_type=Innen',
    });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('<html lang="de">');
    expect(refused.text).toContain('<title>Fehler: Angebot anfragen · Paint Match</title>');
    expect(refused.text).toContain('Bitte füllen Sie „Postleitzahl“ aus.');
    expect(refused.text).toContain('Bitte prüfen Sie „E-Mail-Adresse“');
    const missing = await get('/nothing', { accept: 'text/html' });
    expect(missing.status).toBe(404);
    expect(missing.text).toContain('<h1>Diese Seite gibt es nicht</h1>');
    expect(missing.text).toContain('Unter dieser Adresse ist nichts.');
    expect(missing.text).toContain('Zur Startseite');
    expect(missing.text).not.toMatch(/There is nothing|To the start page/);
  });

  test('accepts a German choice, because choices are only suggestions', async () => {
    const accepted = await call(service, '/api/leads', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        form: 'homeowner_quote',
        name: 'Ada',
        email: 'ada@example.com',
        postal_code: '10115',
        project_type: 'Innen und außen',
      }),
    });
    expect(accepted.body).toEqual({ ok: true });
  });
});

test('adds a page with its own path and language to the site, the sitemap and llms.txt', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'content-'));
  const page = '---\ntitle: Devis\ndescription: Une demande.\norder: 2.5\nlang: fr\n---\n\n## Merci\n';
  writeFileSync(join(folder, 'devis.md'), page);
  const service = await startService({ environment: { CONTENT_DIR: folder } });
  const get = (path: string) => call(service, path, { method: 'GET' });
  expect((await get('/devis')).text).toContain('<html lang="fr">');
  expect((await get('/sitemap.xml')).text).toContain('/devis</loc>');
  expect((await get('/llms.txt')).text).toContain('/devis.md): Une demande.');
  expect((await get('/quote')).text).toContain('<html lang="en">');
  await service.close();
  rmSync(folder, { recursive: true });
});

test('finds no labels of fields in the default words, because the catalogue has the labels', () => {
  const { fields, forms } = defaultWords();
  expect({ fields, forms }).toEqual({ fields: {}, forms: {} });
});

test('changes no words if words.yaml contains only comments', () => {
  const folder = mkdtempSync(join(tmpdir(), 'content-'));
  writeFileSync(join(folder, 'words.yaml'), '# lang: de\n');
  expect(readContentOverrides(folder).words).toEqual(defaultWords());
  rmSync(folder, { recursive: true });
});

describe('CONTENT_DIR, other files (reference §15.5)', () => {
  const left = [
    ...['.DS_Store', '._quote.md', 'Thumbs.db', 'ehthumbs.db', 'desktop.ini', 'Icon\r'],
    ...['README.md', 'README', 'readme.txt', 'quote.md~', 'quote.md.bak', 'words.yaml.orig'],
    ...['site.css.old', '.quote.md.swp', 'quote.md.swp', '#quote.md#', 'logo.svg.tmp', 'a.rej'],
    ...['quote.md.backup', 'quote.md.~1~', '~$quote.docx', 'ehthumbs_vista.db', 'Thumbs.db'],
    ...['quote - Copy.md', 'quote - Copy (2).md', 'quote copy.md', 'quote copy 2.md', 'quote (copy).md'],
    ...['quote (another copy).md', 'quote (1).md', 'words - Kopie.yaml', 'logo copia.svg', 'quote (Copie).md'],
    ...['site (conflicted copy 2026-11-25 120000).css', 'quote.sync-conflict-20261125-120000-ABCDEFG.md'],
  ];
  test.each(left)('ignores the file %j', (name) => {
    const folder = mkdtempSync(join(tmpdir(), 'content-'));
    writeFileSync(join(folder, name), Buffer.from([0xff]));
    expect(readContentOverrides(folder)).toEqual({ ...noOverrides, pages: new Map() });
    rmSync(folder, { recursive: true });
  });

  test.each(['$RECYCLE.BIN', '@eaDir', '#recycle', 'System Volume Information', '__MACOSX', 'lost+found'])(
    'ignores the folder %s',
    (name) => {
      const folder = mkdtempSync(join(tmpdir(), 'content-'));
      mkdirSync(join(folder, name));
      expect(readContentOverrides(folder)).toEqual({ ...noOverrides, pages: new Map() });
      rmSync(folder, { recursive: true });
    },
  );

  test.each(['Quote.md', 'our copy shop.md', 'copy that.md', 'quote two.md', 'quote (draft).md', 'quote.backup.md'])(
    'rejects %j, which may be meant as a page',
    (name) => {
      const folder = mkdtempSync(join(tmpdir(), 'content-'));
      writeFileSync(join(folder, name), 'text');
      expect(() => readContentOverrides(folder)).toThrow(`CONTENT_DIR: ${name} is not a file of a site`);
      rmSync(folder, { recursive: true });
    },
  );

  test.each([
    ['logo.svg', 'logo', 'image/svg+xml'],
    ['logo.png', 'logo', 'image/png'],
    ['contractor.jpg', 'photo', 'image/jpeg'],
    ['contractor.png', 'photo', 'image/png'],
  ] as const)('reads %s as %s with the media type %s', (name, of, contentType) => {
    const folder = mkdtempSync(join(tmpdir(), 'content-'));
    writeFileSync(join(folder, name), 'picture');
    const extension = name.slice(-3);
    expect(readContentOverrides(folder)[of]).toEqual({ extension, contentType, body: Buffer.from('picture') });
    rmSync(folder, { recursive: true });
  });

  test('treats readme.md as a page', () => {
    const folder = mkdtempSync(join(tmpdir(), 'content-'));
    writeFileSync(join(folder, 'readme.md'), 'text');
    expect([...readContentOverrides(folder).pages.keys()]).toEqual(['readme.md']);
    rmSync(folder, { recursive: true });
  });

  test.each([
    ['a folder', (path: string) => mkdirSync(path)],
    ['a named pipe', (path: string) => execFileSync('mkfifo', [path])],
  ])('rejects %s in a sentence with its name and kind', (kind, make) => {
    const folder = mkdtempSync(join(tmpdir(), 'content-'));
    make(join(folder, 'images'));
    expect(() => readContentOverrides(folder)).toThrow(`CONTENT_DIR: images is ${kind}. Only files are allowed.`);
    rmSync(folder, { recursive: true });
  });
});

describe('CONTENT_DIR, invalid content', () => {
  const page = (head: string, body = '') => `---\ntitle: T\ndescription: D\n${head}---\n${body}`;

  test.each<[string, string | Buffer, RegExp]>([
    ['quote.md', 'Text', /^CONTENT_DIR: quote\.md: .*no front matter\.$/],
    ['quote.md', page('order: first\n'), /^CONTENT_DIR: quote\.md: .*order.*\.$/],
    ['quote.md', page('order: 1\n'), /^CONTENT_DIR: quote\.md: needs form: homeowner_quote\.$/],
    ['extra.md', page('order: 1\n', '{{colour}}'), /^CONTENT_DIR: extra\.md: .*\{\{colour\}\}\.$/],
    ['extra.md', page('order: 1\nlang: d!\n'), /^CONTENT_DIR: extra\.md: .*lang: is not a language tag\.$/],
    ['extra.md', page('order: .nan\n'), /^CONTENT_DIR: extra\.md: .*order: must be a number\.$/],
    ['extra.md', page('order: [\n'), /^CONTENT_DIR: extra\.md: .+\.$/],
    ['extra.md', page('order: 1\nform: survey\n'), /^CONTENT_DIR: extra\.md: .*catalogue/],
    ['extra.md', Buffer.from([0xff]), /^CONTENT_DIR: extra\.md: The encoded data was not valid.*\.$/],
    ['reference.md', page('order: 1\n'), /^CONTENT_DIR: reference\.md has a reserved name\.$/],
    ['operator.md', page('order: 1\n'), /^CONTENT_DIR: operator\.md has a reserved name\.$/],
    ['Quote.md', page('order: 1\n'), /^CONTENT_DIR: Quote\.md is not a file of a site\. /],
    ['word.yaml', 'lang: de', /^CONTENT_DIR: word\.yaml is not a file of a site\. /],
    ['logo.gif', 'GIF', /^CONTENT_DIR: logo\.gif is not a file of a site\. /],
    ['words.yaml', 'frame: { skipp: x }', /^CONTENT_DIR: words\.yaml: frame\.skipp: is an unknown name\.$/],
    ['words.yaml', 'lang: deutsch!', /^CONTENT_DIR: words\.yaml: lang: is not a language tag\.$/],
    ['words.yaml', 'lang: de-a', /^CONTENT_DIR: words\.yaml: lang: is not a language tag\.$/],
    ['words.yaml', 'lang: de\n---\nlang: fr\n', /^CONTENT_DIR: words\.yaml: .*one document\.$/],
    ['words.yaml', 'lang: [', /^CONTENT_DIR: words\.yaml: .+\.$/],
    ['words.yaml', 'form: { error: 1 }', /^CONTENT_DIR: words\.yaml: form\.error: .+\.$/],
    ['words.yaml', 'fields: { colour: { label: x } }', /^CONTENT_DIR: words\.yaml: no form has a field colour\.$/],
    ['words.yaml', 'forms: { survey: {} }', /^CONTENT_DIR: words\.yaml: forms\.survey: is an unknown name\.$/],
    ['words.yaml', 'errors: { headings: { 200: x } }', /: errors\.headings: takes statuses of errors alone, as 404\.$/],
    ['words.yaml', 'errors: { headings: { 1404: x } }', /^CONTENT_DIR: words\.yaml: errors\.headings.*\.$/],
    ['words.yaml', 'errors: { sentences: { 4040: x } }', /^CONTENT_DIR: words\.yaml: errors\.sentences.*\.$/],
    ['words.yaml', 'flow: { steps: [{ title: a, note: b }] }', /: flow\.steps: must have five items\.$/],
    [
      'words.yaml',
      'newsletter: { message: { text: "{leave_url}" } }',
      /: newsletter: needs \{confirm_url\} and \{leave_url\} in the text of its message\.$/,
    ],
    ['words.yaml', 'fields: { project_type: { choices: [] } }', /: .*choices: needs at least one\.$/],
    ['words.yaml', 'fields: { project_type: { choices: [""] } }', /: .*must not be empty\.$/],
    ['site.css', '@import "a.css";', /^CONTENT_DIR: site\.css must not load anything from another address\.$/],
    ['site.css', 'a { background: url( "//x.example/a") }', /^CONTENT_DIR: site\.css must not load/],
    ['site.css', 'a { background: URL("  http://x.example/a") }', /^CONTENT_DIR: site\.css must not load/],
    ['site.css', 'a { background: url(https://x.example/a) }', /^CONTENT_DIR: site\.css must not load/],
    [
      'words.yaml',
      `contractor: { quotation: ${'x'.repeat(301)} }`,
      /: contractor\.quotation: must have at most 300 characters\.$/,
    ],
  ])('rejects %s with the content %j in one sentence that names the file', async (name, content, sentence) => {
    const folder = mkdtempSync(join(tmpdir(), 'content-'));
    writeFileSync(join(folder, name), content);
    await expect(startService({ environment: { CONTENT_DIR: folder } })).rejects.toThrow(sentence);
    rmSync(folder, { recursive: true });
  });

  test('rejects two logos and a missing folder, and accepts an unset CONTENT_DIR', () => {
    const folder = mkdtempSync(join(tmpdir(), 'content-'));
    cpSync(join(german, 'logo.svg'), join(folder, 'logo.svg'));
    writeFileSync(join(folder, 'logo.png'), 'x');
    expect(() => readContentOverrides(folder)).toThrow(
      /^CONTENT_DIR: logo\.svg and logo\.png exclude each other\. Remove one of them\.$/,
    );
    expect(() => readContentOverrides(join(folder, 'none'))).toThrow(/^CONTENT_DIR names a folder that can/);
    expect(readContentOverrides(undefined)).toBe(noOverrides);
    rmSync(folder, { recursive: true });
  });

  test('accepts a quotation of 300 characters', () => {
    const folder = mkdtempSync(join(tmpdir(), 'content-'));
    const quotation = 'x'.repeat(300);
    writeFileSync(join(folder, 'words.yaml'), `contractor: { quotation: ${quotation} }`);
    expect(readContentOverrides(folder).words.contractor.quotation).toBe(quotation);
    rmSync(folder, { recursive: true });
  });

  test('rejects a file that can’t be read', () => {
    const folder = mkdtempSync(join(tmpdir(), 'content-'));
    symlinkSync(join(folder, 'none'), join(folder, 'logo.png'));
    expect(() => readContentOverrides(folder)).toThrow(/^CONTENT_DIR: logo\.png can’t be read\.$/);
    rmSync(folder, { recursive: true });
  });

  test('makes the process print the sentence and exit with 78 before it listens', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'content-'));
    writeFileSync(join(folder, 'words.yaml'), 'lang: 7');
    const service = await spawnService({ environment: { CONTENT_DIR: folder } });
    const exit = await service.exited;
    expect(exit.status).toBe(78);
    expect(service.stderr()).toMatch(/^CONTENT_DIR: words\.yaml: lang: [^\n]+\.\n$/);
    expect(service.stdout()).toBe('');
    rmSync(folder, { recursive: true });
  });
});
