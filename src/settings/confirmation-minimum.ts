/** `CONFIRMATION_MINIMUM`: one level for all actions, or pairs of an action and its level (reference §6.4). */
import { type FormName, forms } from '../forms/catalog.ts';

const LEVELS = ['agent', 'page', 'page_email'] as const;

type ConfirmationLevel = (typeof LEVELS)[number];

export type MinimumByAction = Readonly<Record<FormName, ConfirmationLevel>>;

const ACTIONS = Object.keys(forms) as FormName[];

/** The default: no confirmation page is required. */
export const NO_MINIMUM = ofAll('agent');

/** Returns undefined if the text mixes a single level with pairs, names an action twice, or has an unknown name. */
export function parseConfirmationMinimum(text: string): MinimumByAction | undefined {
  const whole = LEVELS.find((level) => level === text.trim());
  if (whole !== undefined) return ofAll(whole);
  const given = new Map<FormName, ConfirmationLevel>();
  for (const pair of text.split(',')) {
    const [name, value, ...rest] = pair.split('=').map((part) => part.trim());
    const action = ACTIONS.find((each) => each === name);
    const level = LEVELS.find((each) => each === value);
    if (action === undefined || level === undefined || rest.length > 0 || given.has(action)) return undefined;
    given.set(action, level);
  }
  return { ...NO_MINIMUM, ...Object.fromEntries(given) };
}

/** Returns the text of the setting, for `npm run settings`. */
export function writeConfirmationMinimum(minimum: MinimumByAction): string {
  const levels = new Set(Object.values(minimum));
  const [only] = levels;
  if (levels.size === 1 && only !== undefined) return only;
  return ACTIONS.map((action) => `${action}=${minimum[action]}`).join(',');
}

function ofAll(level: ConfirmationLevel): MinimumByAction {
  return Object.fromEntries(ACTIONS.map((action) => [action, level])) as MinimumByAction;
}
