/** One table of the security bench. */
export interface Section {
  readonly title: string;
  /** Where the data comes from. */
  readonly source: string;
  readonly rows: readonly { readonly [column: string]: string | number }[];
  readonly notes: readonly string[];
}

/** A section as Markdown. */
export function printSection({ title, source, rows, notes }: Section): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
  const table =
    rows.length === 0
      ? []
      : [line(columns), line(columns.map(() => '---')), ...rows.map((row) => line(columns.map((name) => row[name] ?? '')))];
  return [
    `## ${title}`,
    '',
    `Data: ${source}`,
    '',
    ...table,
    ...(table.length > 0 ? [''] : []),
    ...notes.map((note) => `- ${note}`),
    '',
  ].join('\n');
}
