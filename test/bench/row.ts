/** One line of the table. */
export interface Row {
  readonly what: string;
  readonly unit: string;
  readonly ours: number;
  /** The same by a loop written by hand. */
  readonly byHand?: number | undefined;
  /** What is to be kept: a bound of our figure, or of our figure over the one by hand. */
  readonly target?: { readonly of: 'ours' | 'ratio'; readonly most?: number; readonly least?: number } | undefined;
}

export const atMost = (most: number): Row['target'] => ({ of: 'ours', most });
export const atLeast = (least: number): Row['target'] => ({ of: 'ours', least });
export const ratioAtMost = (most: number): Row['target'] => ({ of: 'ratio', most });

/** Prints numbers with about three digits that count. */
export function show(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return Number.isInteger(value) ? String(value) : value.toFixed(digits);
}

export const headings = ['measure', 'unit', 'Guardloop', 'by hand', 'ratio', 'target', 'met'] as const;

export function cellsOf({ what, unit, ours, byHand, target }: Row): readonly string[] {
  const ratio = byHand === undefined ? undefined : ours / byHand;
  const measured = target?.of === 'ratio' ? ratio : ours;
  const isMet = measured !== undefined && measured <= (target?.most ?? Infinity) && measured >= (target?.least ?? -Infinity);
  const bound = target?.most === undefined ? `≥ ${target?.least}` : `≤ ${target.most}`;
  return [
    what,
    unit,
    show(ours),
    byHand === undefined ? '' : show(byHand),
    ratio === undefined ? '' : ratio.toFixed(2),
    target === undefined ? '' : `${target.of === 'ratio' ? 'ratio ' : ''}${bound}`,
    target === undefined ? '' : isMet ? 'yes' : 'NO',
  ];
}
