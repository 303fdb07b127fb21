import type { Event, Sent } from '../../src/upstream/upstream.ts';

/** An event as it leaves: with its id, and as the bytes of its body. */
export function sentOf(event: Event): Sent {
  return { id: event.data.id, type: event.type, body: JSON.stringify(event) };
}
