/** One line of the table: what was tried, and what came of it. */
export interface Row {
  readonly fault: string;
  readonly where: string;
  readonly tried: number;
  readonly failures: readonly string[];
  /** Figures and what else there is to say. */
  readonly note: string;
}

/** A table for people. */
export function table(rows: readonly Row[]): string {
  const cells = rows.map(({ fault, where, tried, failures, note }) => [
    fault,
    where,
    String(tried),
    failures.length === 0 ? 'passed' : `${failures.length} FAILED`,
    note,
  ]);
  const all = [['fault', 'where', 'tried', '', 'note'], ...cells];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? [];
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Does `act` for all of them, `atOnce` at a time, in order. */
export async function forAll<T, R>(
  items: readonly T[],
  atOnce: number,
  act: (item: T, index: number) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      const item = items[index];
      if (item !== undefined) results[index] = await act(item, index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
  return results;
}
