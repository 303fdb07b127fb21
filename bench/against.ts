/** Checks out another commit in a separate work tree, with the packages that are installed here. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Other } from './compare.ts';

const HERE = fileURLToPath(new URL('..', import.meta.url));

/**
 * Creates the work tree of a commit, which may have any name that git resolves. Throws if git does not find the commit.
 */
export function checkOut(commit: string): { other: Other; remove(): void } {
  const short = git('rev-parse', '--short', '--verify', `${commit}^{commit}`);
  const path = join(mkdtempSync(join(tmpdir(), 'commit-')), 'tree');
  git('worktree', 'add', '--detach', path, short);
  symlinkSync(join(HERE, 'node_modules'), join(path, 'node_modules'));
  const remove = () => {
    git('worktree', 'remove', '--force', path);
    rmSync(join(path, '..'), { recursive: true });
  };
  const sameSchema = git('diff', '--name-only', short, '--', 'src/storage/migrations') === '';
  return { other: { against: short, argv: [join(path, 'bin/service.js'), 'start'], sameSchema }, remove };
}

function git(...argv: string[]): string {
  const { status, stdout, stderr } = spawnSync('git', argv, { cwd: HERE, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${argv[0]}: ${stderr}`);
  return stdout.trim();
}
