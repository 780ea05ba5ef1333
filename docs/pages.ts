import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

function findRoot(from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'pnpm-workspace.yaml'))) return folder;
    if (folder === dirname(folder)) throw new Error(`No pnpm-workspace.yaml stands above ${from}.`);
  }
}

/** The repository's root, from the sources as well as from what was built of them. */
export const root = findRoot(dirname(fileURLToPath(import.meta.url)));

const skipped: ReadonlySet<string> = new Set(['node_modules', 'dist', 'api', 'coverage', '.git', '.turbo']);

function markdownIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (skipped.has(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return markdownIn(path);
    return entry.name.endsWith('.md') ? [relative(root, path)] : [];
  });
}

/** Every Markdown file of the repository, from its root. */
export function markdownFiles(): readonly string[] {
  return markdownIn(root)
    .map((path) => path.replaceAll('\\', '/'))
    .sort();
}

/** Every snippet file, from the root. */
export function snippetFiles(): readonly string[] {
  return readdirSync(join(root, 'docs/snippets'))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `docs/snippets/${name}`)
    .sort();
}

/** The text of a file, by its path from the root. */
export function readPage(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}
