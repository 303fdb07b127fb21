import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Node, SyntaxKind } from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';

const project = resolve(import.meta.dirname, '../..');

/** A place in the source that a rule searches for: its file and its text. */
export type Found = { path: string; text: string };

type ParsedFile = { path: string; source: string; root: Node };

/** Parses the source once for a test file, because the parser opens the whole project. */
function parseSource(): ParsedFile[] {
  const api = new API({ cwd: project });
  try {
    const snapshot = api.updateSnapshot({ openProjects: [join(project, 'tsconfig.json')] });
    const [opened] = snapshot.getProjects();
    return globSync('src/**/*.ts', { cwd: project }).map((path) => {
      const root = opened?.program.getSourceFile(join(project, path));
      if (root === undefined) throw new Error(`The parser does not know ${path}.`);
      return { path, root, source: readFileSync(join(project, path), 'utf8') };
    });
  } finally {
    api.close();
  }
}

let parsed: ParsedFile[] | undefined;

/** Returns every node of these kinds in `src/`, as the TypeScript parser finds them. */
export function nodesOfSource(...kinds: SyntaxKind[]): (Found & { node: Node })[] {
  parsed ??= parseSource();
  return parsed.flatMap(({ path, source, root }) => {
    const found: (Found & { node: Node })[] = [];
    const visit = (node: Node): void => {
      if (kinds.includes(node.kind)) {
        found.push({ path, node, text: source.slice(node.pos, node.end).trim() });
      }
      node.forEachChild(visit);
    };
    visit(root);
    return found;
  });
}

/** Returns every regular-expression literal of `src/`, compiled. */
export function expressionsOfSource(): (Found & { expression: RegExp })[] {
  return nodesOfSource(SyntaxKind.RegularExpressionLiteral).map(({ path, text }) => {
    const [, pattern = '', flags = ''] = /^\/(.*)\/([a-z]*)$/s.exec(text) ?? [];
    return { path, text, expression: new RegExp(pattern, flags) };
  });
}
