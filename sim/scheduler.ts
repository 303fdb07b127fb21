/**
 * Virtual time. Events run one after another, in the order of their time. Events with the same time run in the order in
 * which they were made.
 */

type Scheduled = { at: number; order: number; callback: (() => void) | undefined };

export type Scheduler = {
  /** Returns the milliseconds since the run began. */
  time(): number;
  /** Calls back after `ms` milliseconds. The returned function cancels the call. */
  after(ms: number, callback: () => void): () => void;
  sleep(ms: number): Promise<void>;
  /** Moves time forward without running events. Events that are due by then run at the new time. */
  leap(ms: number): void;
  /** Runs events until `done` returns true or no event remains. Calls `afterEach` after each event. */
  run(done: () => boolean, afterEach: () => void): Promise<void>;
};

/** Opens an empty schedule at time 0. */
export function openScheduler(): Scheduler {
  const heap: Scheduled[] = [];
  let time = 0;
  let made = 0;

  const isBefore = (a: Scheduled, b: Scheduled) => a.at < b.at || (a.at === b.at && a.order < b.order);

  function push(event: Scheduled): void {
    let index = heap.push(event) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] as Scheduled;
      if (isBefore(above, event)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = event;
  }

  function pop(): Scheduled | undefined {
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Scheduled, heap[child] as Scheduled)) child += 1;
      if (isBefore(last, heap[child] as Scheduled)) break;
      heap[index] = heap[child] as Scheduled;
      index = child;
    }
    heap[index] = last;
    return first;
  }

  const after: Scheduler['after'] = (ms, callback) => {
    const event: Scheduled = { at: time + Math.max(0, ms), order: made, callback };
    made += 1;
    push(event);
    return () => {
      event.callback = undefined;
    };
  };

  return {
    time: () => time,
    after,
    sleep: (ms) => new Promise((resolve) => void after(ms, resolve)),
    leap: (ms) => {
      time += ms;
    },
    async run(done, afterEach) {
      while (!done()) {
        const event = pop();
        if (event === undefined) return;
        if (event.callback === undefined) continue;
        time = Math.max(time, event.at);
        event.callback();
        // Every promise that can continue runs before the next event. Nothing in a run waits for real time or I/O.
        await new Promise((next) => void process.nextTick(next));
        afterEach();
      }
    },
  };
}
