import type { Page } from 'playwright-core';
import type { Field, Form } from '../src/forms/catalog.ts';

/** Returns the example answers, with an address that identifies the submission. */
export function answersTo(form: Form, email: string): Record<string, string> {
  const examples = form.fields.map(({ name, example }) => [name, example]);
  return { ...Object.fromEntries(examples), email };
}

/** Fills in the form by its labels, as a person does. */
export async function fillIn(page: Page, form: Form, answers: Readonly<Record<string, string>>): Promise<void> {
  for (const field of form.fields) {
    const answer = answers[field.name];
    if (answer === undefined) continue;
    if (field.kind === 'choice') await choose(page, field, answer);
    else await page.getByLabel(labelOf(field), { exact: true }).fill(answer);
  }
  if (form.name === 'newsletter') await page.getByLabel(/^I agree to get updates/).check();
}

async function choose(page: Page, field: Field, answer: string): Promise<void> {
  const group = page.getByRole('group', { name: labelOf(field), exact: true });
  await group.getByLabel(answer, { exact: true }).check();
}

function labelOf({ label, required }: Field): string {
  return required ? label : `${label} (optional)`;
}
