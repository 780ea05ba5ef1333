// Code blocks in Markdown that are copies of files which run: `<!-- snippet: docs/snippets/x.ts#region -->` above a block says of which.

/** A place in a file that a code block copies. `region` left out: the whole file. */
export interface SnippetReference {
  readonly path: string;
  readonly region: string | undefined;
}

const marker = /^<!-- snippet: ([^\s#]+)(?:#([^\s#]+))? -->$/;
const fence = /^(`{3,})(\w*)/;
const regionLine = /^\s*\/\/ #(?:region (\S+)|endregion(?: \S+)?)\s*$/;

/**
 * The lines of a region, without region comments and without common indentation. Regions do not nest. Throws if the region is not there
 * exactly once.
 */
export function readSnippet(source: string, { path, region }: SnippetReference): string {
  const lines: string[] = [];
  let open: string | undefined;
  let found = 0;
  for (const line of source.split('\n')) {
    const mark = regionLine.exec(line);
    if (mark) {
      open = mark[1];
      if (open !== undefined && open === region) found += 1;
    } else if (region === undefined || open === region) lines.push(line);
  }
  if (region !== undefined && found !== 1) throw new Error(`${path} has ${found} regions named ${region}, expected one.`);
  const indents = lines.filter((line) => line.trim() !== '').map((line) => line.length - line.trimStart().length);
  const indent = Math.min(...indents);
  return lines
    .map((line) => line.slice(indent))
    .join('\n')
    .trim();
}

/** The names of a file's regions. */
export function regionsOf(source: string): readonly string[] {
  return source.split('\n').flatMap((line) => regionLine.exec(line)?.[1] ?? []);
}

/** What {@link syncSnippets} found in one Markdown file. */
export interface Synced {
  /** The Markdown with every marked block as its snippet is now. */
  readonly text: string;
  readonly references: readonly SnippetReference[];
  /** Line numbers, from 1, of TypeScript blocks without a marker. */
  readonly unmarked: readonly number[];
}

/** Puts the snippets that `read` gives into the blocks that name them. Throws where a marker has no block under it. */
export function syncSnippets(markdown: string, read: (reference: SnippetReference) => string): Synced {
  const lines = markdown.split('\n');
  const result: string[] = [];
  const references: SnippetReference[] = [];
  const unmarked: number[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    result.push(line);
    const opening = fence.exec(line);
    if (!opening) continue;
    const end = lines.findIndex((each, at) => at > index && each === opening[1]);
    if (end === -1) throw new Error(`The code block that begins in line ${index + 1} has no end.`);
    const mark = marker.exec(lines[index - 1] ?? '');
    if (mark?.[1] !== undefined) {
      const reference = { path: mark[1], region: mark[2] };
      references.push(reference);
      result.push(read(reference));
    } else {
      if (opening[2] === 'ts') unmarked.push(index + 1);
      result.push(...lines.slice(index + 1, end));
    }
    result.push(opening[1] ?? '');
    index = end;
  }
  const marks = lines.filter((line) => marker.test(line)).length;
  if (marks !== references.length)
    throw new Error(`${marks - references.length} of ${marks} snippet markers have no code block in the next line.`);
  return { text: result.join('\n'), references, unmarked };
}

/** Targets of the links in a Markdown text, outside of code. */
export function linksOf(markdown: string): readonly string[] {
  const prose = markdown.replaceAll(/^(`{3,})[^\n]*\n[\s\S]*?^\1$/gm, '').replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
}

/** The anchors of a Markdown text's headings, as GitHub makes them. */
export function anchorsOf(markdown: string): ReadonlySet<string> {
  const prose = markdown.replaceAll(/^(`{3,})[^\n]*\n[\s\S]*?^\1$/gm, '');
  return new Set(
    [...prose.matchAll(/^#{1,6} (.+)$/gm)].map((match) =>
      (match[1] ?? '')
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  );
}
