/**
 * The words of `content/` that depend on the deployment, such as `{{operator}}`. They are replaced
 * once, by text that is escaped for where it stands: a name is never markup.
 */

import { CONFIRMATION_STATEMENT } from '../actions/confirmation-statement.ts';
import { bounds } from '../forms/bounds.ts';
import { type Form, forms } from '../forms/catalog.ts';
import { pages } from '../routes.ts';
import type { Settings } from '../settings/settings.ts';
import { takesActions } from './configured.ts';
import { goesAnotherWay, isolated } from './direction.ts';
import { type IconName, icons } from './icons.ts';
import { renderTemplate } from './templates.ts';
import { ourWords, type Words } from './words.ts';

/** What a deployment's settings say about it. */
export type SiteSettings = Pick<
  Settings,
  'mode' | 'mcp' | 'upstream' | 'mail' | 'previewSigningKeys'
> & {
  baseUrl: string;
  operator: { name: string; contact: string | undefined };
  contractor: { id: string; name: string } | undefined;
  receiptRetentionDays: number;
  submissionRetentionDays: number;
};

/** One replacement, spelled for HTML, for Markdown and for plain text. */
type Replacement = { html: string; markdown: string; text: string };

/** With a mark where a part that is not in every mode was not begun and ended as it should. */
const PLACEHOLDER = /\{\{([#/]?\w+)\}\}/g;
const CONTACT_FORM = pages.contact.path;

/** The contractor on the platform as people read it, also where there is none yet. */
export function contractorName(settings: SiteSettings, { frame }: Pick<Words, 'frame'>): string {
  return settings.contractor?.name ?? frame.contractor;
}

/**
 * Takes Markdown, the settings and the form that was just sent, if one was; returns it without the parts that only
 * other deployments tell, or that are for who sent another form.
 */
export function partsOf(markdown: string, settings: SiteSettings, sent?: Form): string {
  const kept: Readonly<Record<string, boolean>> = {
    local: settings.mode === 'local',
    mcp: settings.mcp === 'on',
    unconfigured: !takesActions(settings),
    operator_contact: settings.operator.contact !== undefined,
    any: sent === undefined,
    ...Object.fromEntries(Object.values(forms).map((form) => [form.name, form === sent])),
  };
  return Object.entries(kept).reduce(
    (text, [name, isKept]) => keepPart(text, name, isKept),
    markdown,
  );
}

function keepPart(markdown: string, name: string, isKept: boolean): string {
  // A mark has a line of its own, the first and the last among them.
  const [before = '', ...parts] = `\n${markdown}\n`.split(`\n{{#${name}}}\n`);
  const rest = parts.map((part) => {
    const [own, behind, ...more] = `\n${part}`.split(`\n{{/${name}}}\n`);
    // One that has no end of its own stays as it is: the mark is no placeholder, and stops the start.
    if (own === undefined || behind === undefined || more.length > 0) {
      return `\n{{#${name}}}\n${part}`;
    }
    const after = behind.replace(/^\n+/, '');
    return isKept ? `${own}\n\n${after}` : `\n${after}`;
  });
  return (before + rest.join('')).slice(1, -1);
}

/** Takes the settings and the words; returns a function that fills one text, written in one form. */
export function placeholderFiller(
  settings: SiteSettings,
  words: Pick<Words, 'flow' | 'frame' | 'lang'> = ourWords(),
  lang = words.lang,
): (text: string, as: keyof Replacement) => string {
  const { flow, frame } = words;
  const replacements: Readonly<Record<string, Replacement>> = {
    operator: named(settings.operator.name, lang),
    contractor: named(contractorName(settings, words), lang),
    contact: contact(settings.operator.contact, frame.contact, lang),
    // The picture of the flow; without pictures, what it shows.
    flow: {
      ...plain(flow.description),
      get html() {
        return renderTemplate('flow', { ...flow, lang: words.lang });
      },
    },
    retention_days: plain(String(settings.receiptRetentionDays)),
    confirmation_minutes: plain(String(bounds.confirmationLifetimeMinutes)),
    subscription_days: plain(String(bounds.subscriptionLifetimeDays)),
    submission_days: plain(String(settings.submissionRetentionDays)),
    // These two stand in code as well, where Markdown knows no escapes; neither needs one.
    base_url: { ...plain(settings.baseUrl), markdown: settings.baseUrl },
    confirmation_statement: { ...plain(CONFIRMATION_STATEMENT), markdown: CONFIRMATION_STATEMENT },
    // Pictures beside words that say the same.
    icon_form: drawn('form'),
    icon_house: drawn('house'),
    icon_answer: drawn('answer'),
  };
  return (text, as) =>
    text.replace(PLACEHOLDER, (whole, name: string) => {
      const replacement = Object.hasOwn(replacements, name) ? replacements[name] : undefined;
      if (replacement === undefined) throw new Error(`content/ knows no placeholder ${whole}`);
      return replacement[as];
    });
}

/** The address that opens mail or the telephone: a contact is one or the other (contract §2). */
export function contactHref(contact: string): string {
  if (!contact.includes('@')) return `tel:${contact.replace(/[^\d+]/g, '')}`;
  return `mailto:${encodeURI(contact).replace(/[?&#]/g, encodeURIComponent)}`;
}

function contact(address: string | undefined, words: string, lang: string): Replacement {
  if (address === undefined) {
    return {
      html: `<a href="${CONTACT_FORM}">${escapeHtml(words)}</a>`,
      markdown: `[${escapeMarkdown(words)}](${CONTACT_FORM})`,
      text: words,
    };
  }
  const html = `<a href="${escapeHtml(contactHref(address))}">${named(address, lang).html}</a>`;
  return { ...plain(address), html };
}

function drawn(name: IconName): Replacement {
  return { html: icons[name], markdown: '', text: '' };
}

function plain(text: string): Replacement {
  return { html: escapeHtml(text), markdown: escapeMarkdown(text), text };
}

/** A name or an address, which may go another way than the page. */
function named(text: string, lang: string): Replacement {
  const replacement = { ...plain(text), text: isolated(text, lang) };
  if (!goesAnotherWay(text, lang)) return replacement;
  return { ...replacement, html: `<bdi>${replacement.html}</bdi>` };
}

const htmlEntities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Spells a text for HTML, in elements and attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => htmlEntities[character] ?? character);
}

/** A backslash before whatever would start markup inside a line, a table included. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_[\]<>|&~]/g, '\\$&');
}
