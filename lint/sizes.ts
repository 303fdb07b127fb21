/** Limits the lines of a file, so that each file stays one thing. `npm run check` runs this in the project's folder. */
import { globSync, readFileSync } from 'node:fs';

/** Largest number of lines of each group of files. */
const limits: [files: string, lines: number][] = [
  ['{src,sim,chaos,bench,deploy,examples,bin}/**/*.{ts,js}', 250],
  ['e2e/**/!(*.e2e).{ts,js}', 250],
  ['{test,e2e}/**/*.ts', 400],
];

const over = limits.flatMap(([files, lines]) =>
  globSync(files, { exclude: ['**/node_modules/**'] })
    .map((path) => ({ path, length: readFileSync(path, 'utf8').split('\n').length - 1 }))
    .filter(({ length }) => length > lines)
    .map(({ path, length }) => `${path} has ${length} lines, and the limit is ${lines}. Split it.`),
);
for (const line of over) console.error(line);
process.exitCode = over.length > 0 ? 1 : 0;
