// `node docs/dist/sync-snippets.js` says which Markdown files are not as their snippets are; with `--write` it makes them so.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSnippet, syncSnippets } from './markdown.js';
import { markdownFiles, readPage, root } from './pages.js';

const isWriting = process.argv.includes('--write');
for (const path of markdownFiles()) {
  const markdown = readPage(path);
  const { text } = syncSnippets(markdown, (reference) => readSnippet(readPage(reference.path), reference));
  if (text === markdown) continue;
  if (isWriting) writeFileSync(join(root, path), text);
  else process.exitCode = 1;
  process.stdout.write(`${path} ${isWriting ? 'was brought up to its snippets' : 'is not as its snippets are: run it with --write'}\n`);
}
