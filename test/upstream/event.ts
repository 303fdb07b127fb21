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

/** What the tests of the upstream deliver: an event, as its bytes leave. */
export function eventOf(id: string, type: Event['type'] = 'lead.created'): Sent {
  return sentOf({ ...event, type, data: { ...event.data, id } });
}

export const lead = eventOf('e-1');

/** A lease that lets it start. */
export const freely = { mayStart: () => true };
