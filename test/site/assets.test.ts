import { globSync, readFileSync } from 'node:fs';
import { Script } from 'node:vm';
import { expect, test } from 'vitest';
import {
  cspSource,
  defaultAssets,
  documentationRules,
  overrideAssets,
  sentScript,
  sizeOfPng,
} from '../../src/site/assets.ts';
import { frameOf } from '../../src/site/layout.ts';
import { openSite } from '../../src/site/site.ts';
import { defaultWords } from '../../src/site/words.ts';
import { deployment } from './deployment.ts';

const none = { css: undefined, logo: undefined, photo: undefined, picture: undefined };
const body = Buffer.from('body');
const png = { extension: 'png', contentType: 'image/png', body };
const svg = { extension: 'svg', contentType: 'image/svg+xml', body };
/** Returns the matcher of an asset with this name. */
const asset = (name: string, extension: string, contentType: string, content = body) => ({
  path: expect.stringMatching(new RegExp(`^/assets/${name}-[0-9a-f]{12}\\.${extension}$`)),
  contentType,
  body: content,
});

test('the default assets have their media types, and each script contains its parts', () => {
  expect(Object.entries(defaultAssets).map(([name, { contentType }]) => [name, contentType])).toEqual([
    ['stylesheet', 'text/css; charset=utf-8'],
    ['script', 'text/javascript; charset=utf-8'],
    ['scrollScript', 'text/javascript; charset=utf-8'],
    ['timesScript', 'text/javascript; charset=utf-8'],
    ['icon', 'image/svg+xml'],
    ['touchIcon', 'image/png'],
    ['picture', 'image/png'],
  ]);
  const { script, scrollScript } = defaultAssets;
  for (const part of ['submit', 'pageshow', 'keyup', 'toolactivated']) expect(script.body.toString()).toContain(part);
  for (const part of ['ResizeObserver', 'clipboard', 'aria-current']) {
    expect(scrollScript.body.toString()).toContain(part);
  }
});

test('a script and a stylesheet are sent as lines of their sources, without comments and indents', () => {
  const sources = globSync('src/site/assets/*.{css,js}').flatMap((path) => readFileSync(path, 'utf8').split('\n'));
  const known = new Set(sources.map((line) => line.trim()));
  for (const { contentType, body } of Object.values(defaultAssets)) {
    if (!contentType.startsWith('text/')) continue;
    const text = body.toString();
    expect(text).not.toMatch(/^\s|^$|^\/\/|^\/\*|\*\/$/m);
    expect(text.split('\n').filter((line) => !known.has(line))).toEqual([]);
  }
});

test('the parts of a script declare no name twice, which would stop all of them', () => {
  const { script, scrollScript, timesScript } = defaultAssets;
  for (const { body } of [script, scrollScript, timesScript]) {
    expect(() => new Script(`'use strict'; { ${body} }`)).not.toThrow();
  }
});

test('sizeOfPng() returns width and height, and undefined for another format or a truncated header', () => {
  expect(sizeOfPng(defaultAssets.picture.body)).toEqual({ width: 1200, height: 630 });
  const header = defaultAssets.touchIcon.body.subarray(0, 24);
  expect(sizeOfPng(header)).toEqual({ width: 180, height: 180 });
  expect(sizeOfPng(header.subarray(0, 23))).toBeUndefined();
  expect(sizeOfPng(Buffer.alloc(24))).toBeUndefined();
});

test('overrideAssets() returns the default assets without overrides', () => {
  expect(overrideAssets(none)).toEqual(defaultAssets);
});

test('overrideAssets() appends the rules of the operator on a line of their own', () => {
  const css = Buffer.from('.own {}');
  const both = Buffer.concat([defaultAssets.stylesheet.body, Buffer.from('\n.own {}')]);
  expect(overrideAssets({ ...none, css })).toEqual({
    ...defaultAssets,
    stylesheet: asset('site', 'css', 'text/css; charset=utf-8', both),
  });
});

test('overrideAssets() uses a logo as PNG for phones as well, and shows phones no icon beside a logo as SVG', () => {
  expect(overrideAssets({ ...none, logo: png })).toEqual({
    ...defaultAssets,
    icon: asset('icon', 'png', 'image/png'),
    touchIcon: asset('apple-touch-icon', 'png', 'image/png'),
  });
  const { touchIcon: _, ...others } = defaultAssets;
  expect(overrideAssets({ ...none, logo: svg })).toEqual({ ...others, icon: asset('icon', 'svg', 'image/svg+xml') });
});

test('overrideAssets() adds the photo of the contractor, and replaces the picture for messengers', () => {
  const photo = { extension: 'jpg', contentType: 'image/jpeg', body };
  expect(overrideAssets({ ...none, photo, picture: body })).toEqual({
    ...defaultAssets,
    photo: asset('contractor', 'jpg', 'image/jpeg'),
    picture: asset('opengraph', 'png', 'image/png'),
  });
});

test.each([
  ['no rule of the operator', undefined, { light: expect.stringMatching(/^#/), dark: expect.stringMatching(/^#/) }],
  ['a rule of the operator without a background', '.own {}', expect.objectContaining({ light: expect.any(String) })],
  ['another background of the operator', ':root { --ground: #fff }', undefined],
])('frameOf() returns the colours of the browser with %s', (_name, css, colors) => {
  const rules = css === undefined ? undefined : Buffer.from(css);
  expect(frameOf(defaultWords(), overrideAssets({ ...none, css: rules })).themeColors).toEqual(colors);
});

test('frameOf() returns no colours of the browser for rules with one background only', () => {
  const stylesheet = { ...defaultAssets.stylesheet, body: Buffer.from(':root { --ground :  #fff ; }') };
  expect(frameOf(defaultWords(), { ...defaultAssets, stylesheet }).themeColors).toBeUndefined();
  const both = { ...stylesheet, body: Buffer.from('a { --ground :  #fff ; } b { --ground:#000}') };
  expect(frameOf(defaultWords(), { ...defaultAssets, stylesheet: both }).themeColors).toEqual({
    light: '#fff',
    dark: '#000',
  });
});

test('a site names the sources of its inline rules and of its inline script', async () => {
  const { frame, inline } = await openSite({ ...deployment, contentDir: undefined });
  expect(inline).toEqual({
    styles: [frame().rules, documentationRules].map(cspSource),
    scripts: [cspSource(sentScript)],
  });
});
