import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { anchorsOf, linksOf, readSnippet, regionsOf, syncSnippets } from './markdown.js';
import { markdownFiles, readPage, root, snippetFiles } from './pages.js';

const files = markdownFiles();
/** The pages that this folder answers for: every TypeScript block in them is a file that runs. */
const guides = files.filter((path) => !path.includes('/') || path.startsWith('docs/'));
const read = (reference: { path: string; region: string | undefined }): string => readSnippet(readPage(reference.path), reference);

describe('the Markdown of this repository', () => {
  test.each(files)('%s shows its snippets as they are (node docs/dist/sync-snippets.js --write brings them up)', (path) => {
    const markdown = readPage(path);
    expect(syncSnippets(markdown, read).text).toBe(markdown);
  });

  test.each(guides)('%s has no TypeScript block that does not run', (path) => {
    expect(syncSnippets(readPage(path), read).unmarked).toEqual([]);
  });

  test.each(files)('%s links to what is there', (path) => {
    const broken = linksOf(readPage(path)).filter((link) => {
      if (/^[a-z]+:/.test(link)) return false;
      const [target = '', anchor] = link.split('#');
      const file = target === '' ? path : join(dirname(path), target);
      if (!existsSync(join(root, file))) return true;
      return anchor !== undefined && !anchorsOf(readPage(file)).has(anchor);
    });
    expect(broken).toEqual([]);
  });

  test.each(files.filter((path) => path.startsWith('packages/')))('%s links to nothing that is not installed with it', (path) => {
    const folder = path.split('/').slice(0, 2).join('/');
    const outside = linksOf(readPage(path)).filter(
      (link) => !/^(?:[a-z]+:|#)/.test(link) && !join(dirname(path), link).replaceAll('\\', '/').startsWith(`${folder}/`),
    );
    expect(outside).toEqual([]);
  });

  test('shows every region of every snippet', () => {
    const shown = new Set(
      files.flatMap((path) =>
        syncSnippets(readPage(path), read).references.map((each) => `${each.path}${each.region ? `#${each.region}` : ''}`),
      ),
    );
    const all = snippetFiles().flatMap((path) => {
      const regions = regionsOf(readPage(path));
      return regions.length === 0 ? [path] : regions.map((region) => `${path}#${region}`);
    });
    expect(all.filter((each) => !shown.has(each))).toEqual([]);
  });
});

describe('syncSnippets', () => {
  const source = ['const hidden = 1;', '// #region one', '  const a = 1;', '', '  const b = a;', '// #endregion', 'const end = 2;'].join(
    '\n',
  );

  test('replaces the block under a marker by its region, without indentation and region comments', () => {
    const page = ['<!-- snippet: x.ts#one -->', '```ts', 'old', '```', 'text'].join('\n');
    const { text, references } = syncSnippets(page, (reference) => readSnippet(source, reference));
    expect(text).toBe(['<!-- snippet: x.ts#one -->', '```ts', 'const a = 1;', '', 'const b = a;', '```', 'text'].join('\n'));
    expect(references).toEqual([{ path: 'x.ts', region: 'one' }]);
  });

  test('takes the whole file, without region comments, where no region is named', () => {
    expect(readSnippet(source, { path: 'x.ts', region: undefined })).toMatch(/^const hidden[^#]*const end = 2;$/);
  });

  test('says which TypeScript blocks have no marker, and leaves other blocks alone', () => {
    const page = ['```ts', 'a', '```', '```sh', 'npm test', '```'].join('\n');
    expect(syncSnippets(page, () => 'never')).toEqual({ text: page, references: [], unmarked: [1] });
  });

  test('refuses a marker without a block, a block without end and a region that is not there', () => {
    expect(() => syncSnippets('<!-- snippet: x.ts -->\n\ntext', () => '')).toThrow('1 of 1 snippet markers');
    expect(() => syncSnippets('```ts\nx', () => '')).toThrow('line 1 has no end');
    expect(() => readSnippet(source, { path: 'x.ts', region: 'two' })).toThrow('0 regions named two');
  });
});
