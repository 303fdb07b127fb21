import type { Event, Sent } from '../../src/upstream/upstream.ts';

/** Returns an event in the form in which it is sent: with its id and the exact body. */
export function sentOf(event: Event): Sent {
  return { id: event.data.id, type: event.type, body: JSON.stringify(event) };
}
