/** Types of events, the forms that cause an event, and examples (reference §10.2). */
import { exampleFields, type Form, forms } from '../forms/catalog.ts';
import { pathTo, routes } from '../routes.ts';
import type { Event, SubscriberData, SubscriberEvent } from '../upstream/upstream.ts';
import { receiverOf } from './submission.ts';

/** Events after a subscription (reference §9.3). */
const LATER = ['subscriber.confirmed', 'subscriber.unsubscribed'] as const;

/** All types of events. */
export const eventTypes: readonly Event['type'][] = [
  ...new Set(Object.values(forms).map((form) => form.event)),
  ...LATER,
];

/** Returns true for an event after a subscription. */
export function isLater(type: Event['type']): type is (typeof LATER)[number] {
  return LATER.some((each) => each === type);
}

/** Returns an example of the event for each form that causes it, by the name of the form. */
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
        recipient: receiverOf(form, { contractor: { id: 'contractor-1', name: 'A Contractor' }, operator: null }),
        ...(type === 'lead.created'
          ? { origin: 'agent', client: 'acme-assistant', consent_recorded_at: sentAt }
          : { origin: 'browser', client: null, consent_recorded_at: sentAt, ...exampleSubscriber(type, sentAt) }),
      },
    },
  ]);
  return Object.fromEntries(examples);
}

function exampleSubscriber(type: SubscriberEvent, at: string): SubscriberData {
  const unsubscribe_url = `https://example.com${pathTo(routes.leavePage, { token: 'A'.repeat(22) })}`;
  if (type === 'subscriber.created') return { status: 'pending', unsubscribe_url };
  const confirmed = { status: 'confirmed', unsubscribe_url, confirmed_at: at, unsubscribed_at: null } as const;
  return type === 'subscriber.confirmed' ? confirmed : { ...confirmed, status: 'unsubscribed', unsubscribed_at: at };
}

/** Returns the forms that cause an event. */
export function formsThatCause(type: Event['type']): Form[] {
  if (isLater(type)) return [forms.newsletter];
  return Object.values(forms).filter((form) => form.event === type);
}
