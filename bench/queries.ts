/**
 * `node bench/queries.ts [ROWS]` compares the time of every hot query with a thousand rows in each table and with a
 * million rows. The command measures every database that is available here. The goal is a ratio of 1.3. The time of a
 * change includes its commit, because its caller waits for the commit too.
 */
import { systemClock } from '../src/platform/clock.ts';
import { databases } from '../test/support/databases.ts';
import { median } from './compare.ts';
import { hotQueries, type Queries } from './queries-hot.ts';
import { fillTables } from './queries-rows.ts';

const FEW = 1_000;
const MANY = Number(process.argv[2] ?? 1_000_000);
const WARM_UP = 20;
const MEASURED = 200;
const GOAL = 1.3;

for (const [name, create] of databases) {
  const [few, many] = [await filled(create, FEW), await filled(create, MANY)];
  try {
    await compareQueries(name, few.queries, many.queries);
  } finally {
    for (const { close } of [few, many]) await close();
  }
}

async function filled(create: (typeof databases)[number][1], count: number) {
  const database = await create();
  const storage = await database.open(systemClock);
  await fillTables(storage, count);
  const close = async () => {
    await storage.close();
    await database.remove();
  };
  return { queries: hotQueries(storage), close };
}

async function compareQueries(name: string, few: Queries, many: Queries): Promise<void> {
  process.stdout.write(`\n${name}: µs with ${FEW} rows in each table, with ${MANY}\n`);
  for (const what of Object.keys(few)) {
    const times: [number[], number[]] = [[], []];
    for (let run = 0; run < WARM_UP + MEASURED; run += 1) {
      for (const [index, queries] of [few, many].entries()) {
        const before = performance.now();
        await queries[what]?.();
        if (run >= WARM_UP) times[index]?.push((performance.now() - before) * 1_000);
      }
    }
    const [least, most] = times.map(median) as [number, number];
    const ratio = most / least;
    const cells = [least, most].map((us) => us.toFixed(0).padStart(7)).join(' ');
    const shown = `${ratio.toFixed(2)}${ratio > GOAL ? '  more than the goal' : ''}`;
    process.stdout.write(`  ${what.padEnd(40)} ${cells}   ${shown}\n`);
  }
}
