/** The events of the catalogue and of subscriptions, which forms cause each, and an example of it (contract §3). */
import { type Form, forms } from '../forms/catalog.ts';
import { exampleFields } from '../forms/examples.ts';
import { pathTo, routes } from '../routes.ts';
import type { Event, SubscriberData, SubscriberEvent } from '../upstream/upstream.ts';
import { receiverOf } from './recipient.ts';

/** What becomes of a subscription later (beyond §6). */
const LATER = ['subscriber.confirmed', 'subscriber.unsubscribed'] as const;
export type Later = (typeof LATER)[number];

/** The types of event that the forms of the catalogue cause, and those of what becomes of a subscription. */
export const eventTypes: readonly Event['type'][] = [
  ...new Set(Object.values(forms).map((form) => form.event)),
  ...LATER,
];

/** Whether an event tells what became of a subscription. */
export function isLater(type: Event['type']): type is Later {
  return LATER.some((each) => each === type);
}

const exampleContractor = { id: 'contractor-1', name: 'A Contractor' };

/** Takes a type; returns one example for each of its forms, by the name of the form. */
export function eventExamples(type: Event['type']): Record<string, Event> {
  const sentAt = '2026-09-01T12:03:00.000Z';
  const examples = formsThatCause(type).map((form): [string, Event] => [
    form.name,
    {
      type,
      timestamp: sentAt,
      data: {
        id: '0d6f2c1e-5b1a-4f37-9f0e-2a6a4f1f9c11',
        form: form.name,
        fields: exampleFields(form),
        recipient: receiverOf(form, { contractor: exampleContractor, operator: null }),
        origin: 'agent',
        client: 'acme-assistant',
        consent_recorded_at: sentAt,
        ...(type !== 'lead.created' && {
          ...{ origin: 'browser', client: null },
          ...exampleSubscriber(type, sentAt),
        }),
      },
    },
  ]);
  return Object.fromEntries(examples);
}

/** What is said of a subscriber as an example. */
function exampleSubscriber(type: SubscriberEvent, at: string): SubscriberData {
  const unsubscribe_url = `https://example.com${pathTo(routes.leavePage, { token: 'A'.repeat(22) })}`;
  if (type === 'subscriber.created') return { status: 'pending', unsubscribe_url };
  const hasLeft = type === 'subscriber.unsubscribed';
  return {
    status: hasLeft ? 'unsubscribed' : 'confirmed',
    unsubscribe_url,
    confirmed_at: at,
    unsubscribed_at: hasLeft ? at : null,
  };
}

/** The forms whose submissions it tells of. */
export function formsThatCause(type: Event['type']): Form[] {
  if (isLater(type)) return [forms.newsletter];
  return Object.values(forms).filter((form) => form.event === type);
}
