import { expect, test } from 'vitest';
import { defaultAssets, overrideAssets } from '../../src/site/assets.ts';

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
