/** What was left out of one output. */
export interface Missing {
  fields: number;
  elements: number;
  values: number;
  cut: number;
  /** Lists of plain values that were left out. */
  readonly lists: { readonly name: string; readonly length: number }[];
}

export const nothingMissing = (): Missing => ({ fields: 0, elements: 0, values: 0, cut: 0, lists: [] });

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** What is missing in words, in brackets; undefined where nothing is. `isNamed`: lists are named, and names are the output's own. */
export function describeMissing({ fields, elements, values, cut, lists }: Missing, isNamed: boolean): string | undefined {
  const parts = [
    ...(fields > 0 ? [counted(fields, 'field')] : []),
    ...(elements > 0 ? [`${counted(elements, 'list element')} for want of room`] : []),
    ...(values > 0 ? [`${counted(values, 'value')} for want of room`] : []),
  ];
  const sentences = [
    ...(parts.length > 0 ? [`left out: ${parts.join(', ')}`] : []),
    ...(cut > 0 ? [`${counted(cut, 'long text')} cut inside`] : []),
    ...(lists.length > 0
      ? [`lengths of lists left out: ${lists.map(({ name, length }) => (isNamed ? `${name} ${length}` : length)).join(', ')}`]
      : []),
  ];
  return sentences.length > 0 ? `[${sentences.join('; ')}]` : undefined;
}
