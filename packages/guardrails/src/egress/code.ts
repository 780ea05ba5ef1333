/** Fenced code and code spans of a Markdown text: tells whether a range lies in one. Time grows with the length. */
export function codeIn(text: string): (start: number, end: number) => boolean {
  const ranges: { readonly start: number; readonly end: number }[] = [];
  /** Of each length of a run of backticks, where it stands next: read from the end. */
  const fence = /^ {0,3}(`{3,}|~{3,})[^\n]*$/gm;
  let from = 0;
  for (let open = fence.exec(text); open !== null; open = fence.exec(text)) {
    const mark = open[1] ?? '';
    ranges.push(...spans(text, from, open.index));
    let end = text.length;
    for (let close = fence.exec(text); close !== null; close = fence.exec(text)) {
      const other = close[1] ?? '';
      if (other[0] !== mark[0] || other.length < mark.length || close[0].trim() !== other) continue;
      end = close.index;
      break;
    }
    ranges.push({ start: open.index + open[0].length, end });
    from = end === text.length ? end : fence.lastIndex;
    if (end === text.length) break;
  }
  ranges.push(...spans(text, from, text.length));
  return (start, end) => {
    let low = 0;
    let high = ranges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ranges[middle]?.start ?? 0) <= start) low = middle + 1;
      else high = middle;
    }
    const range = ranges[low - 1];
    return range !== undefined && end <= range.end;
  };
}

/** Runs of backticks, each closed by the next one of its length. */
function spans(text: string, from: number, to: number): readonly { readonly start: number; readonly end: number }[] {
  const runs = [...text.slice(from, to).matchAll(/`+/g)].map(({ 0: run, index }) => ({ at: from + index, length: run.length }));
  const places = new Map<number, number[]>();
  for (const [index, { length }] of runs.entries()) {
    const list = places.get(length) ?? [];
    list.push(index);
    places.set(length, list);
  }
  const found: { readonly start: number; readonly end: number }[] = [];
  const read = new Map<number, number>();
  for (let index = 0; index < runs.length; index += 1) {
    const run = runs[index];
    if (run === undefined) break;
    const list = places.get(run.length) ?? [];
    let next = read.get(run.length) ?? 0;
    while (next < list.length && (list[next] ?? 0) <= index) next += 1;
    read.set(run.length, next);
    const closer = list[next];
    const close = closer === undefined ? undefined : runs[closer];
    if (closer === undefined || close === undefined) continue;
    found.push({ start: run.at + run.length, end: close.at });
    index = closer;
  }
  return found;
}
