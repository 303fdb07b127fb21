/** Renders the page about a submission that is stored, but whose delivery is not confirmed (reference §4.8). */
import type { Form } from '../forms/catalog.ts';
import { type DoneContext, renderDone } from './done-page.ts';
import { escapeHtml, fillIn, isolated } from './interpolate.ts';

/** `kept`: the service sends the submission again. `left`: only the operator can send it again. */
export type StoredKind = 'kept' | 'left';

type StoredContext = DoneContext & { recipient: string };

/** Returns the content of the page. Without a reference, the script fills in the reference. */
export function renderStored(form: Form, kind: StoredKind, context: StoredContext, reference = ''): string {
  const { words, operator, recipient } = context;
  const subscribes = form.event === 'subscriber.created';
  const { text, steps } = words.stored[subscribes ? 'subscription' : 'lead'][kind];
  const values = { recipient: isolated(recipient, words.lang), operator: isolated(operator.name, words.lang) };
  return renderDone(
    {
      title: words.stored.title,
      text: escapeHtml(fillIn(text, values)),
      reference: subscribes ? undefined : reference,
      steps: steps.map((step) => fillIn(step, values)),
    },
    context,
  );
}
