import type { Event, Sent } from '../../src/upstream/upstream.ts';
import { sentOf } from '../support/sent.ts';

const event: Event = {
  type: 'lead.created',
  timestamp: '2026-09-01T12:00:00.000Z',
  data: {
    id: 'e-1',
    form: 'contact',
    fields: { name: 'Ada – ✓' },
    recipient: null,
    origin: 'agent',
    client: 'acme',
    consent_recorded_at: null,
  },
};

/** Returns an event as the bytes that the upstream sends. */
export function eventOf(id: string, type: Event['type'] = 'lead.created'): Sent {
  return sentOf({ ...event, type, data: { ...event.data, id } });
}

export const lead = eventOf('e-1');

/** A lease that permits the send. */
export const freely = { mayStart: () => true };
