/** The frame around every page: head, header, main, footer. */
import { iconPath, stylesheetPath } from './assets.ts';
import { renderTemplate } from './templates.ts';

type Layout = {
  /** Of the page alone; the operator's name is added. */
  title: string;
  operatorName: string;
  /** HTML. */
  main: string;
  noindex: boolean;
  /** What only a page of the site has, an error page has not. */
  page?: { path: string; canonical: string; description: string; markdownPath: string };
};

const header = [
  { href: '/quote', label: 'Get a quote' },
  { href: '/contractors', label: 'For contractors' },
  { href: '/agents', label: 'For agents' },
];
const footer = [
  ...header,
  { href: '/newsletter', label: 'Newsletter' },
  { href: '/contact', label: 'Contact' },
  { href: '/privacy', label: 'Privacy' },
];

/** Takes the parts of a page; returns the whole HTML document. */
export function renderLayout(layout: Layout): string {
  return renderTemplate('layout', { ...layout, header, footer, stylesheetPath, iconPath });
}
