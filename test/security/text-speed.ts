import type { FindInText } from '@guardloop/guardrails';

/** What a text guardrail costs. */
export interface TextSpeed {
  /** Microseconds per KB of ordinary texts. */
  readonly p50: number;
  readonly p99: number;
  /** The same on hostile texts of 256 KB, the worst of them. */
  readonly worst: number;
  /** The exponent by which time grows from 16 to 256 KB, the greatest of all hostile texts that take more than 100 µs per KB: less says more of the memory than of the search. */
  readonly growth: number;
  readonly worstText: string;
}

const longest = 262_144;
const place = { surface: 'toolOutput' } as const;

/** Microseconds of one answer: the best of so many tries of so many calls. */
function timeOf(find: FindInText, text: string, { tries, calls }: { readonly tries: number; readonly calls: number }): number {
  let best = Number.POSITIVE_INFINITY;
  for (let count = 0; count < tries; count += 1) {
    const start = performance.now();
    for (let call = 0; call < calls; call += 1) find(text, place);
    best = Math.min(best, performance.now() - start);
  }
  return (best * 1_000) / calls;
}

/** The same in time of the processor, which other work on the machine does not lengthen; for what takes milliseconds in all. */
function processorTimeOf(find: FindInText, text: string, { tries, calls }: { readonly tries: number; readonly calls: number }): number {
  let best = Number.POSITIVE_INFINITY;
  for (let count = 0; count < tries; count += 1) {
    const start = process.cpuUsage();
    for (let call = 0; call < calls; call += 1) find(text, place);
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, user + system);
  }
  return best / calls;
}

/** Measures on ordinary texts (those below 512 characters say nothing about cost by size) and on each piece repeated up to 256 KB. */
export function measureSpeed(find: FindInText, ordinary: readonly string[], pieces: readonly string[]): TextSpeed {
  const texts = ordinary.filter(({ length }) => length >= 512);
  for (const text of texts) find(text, place);
  const costs = texts.map((text) => timeOf(find, text, { tries: 5, calls: 1 }) / (text.length / 1_024)).sort((left, right) => left - right);
  const at = (share: number): number => costs[Math.min(costs.length - 1, Math.floor(costs.length * share))] ?? Number.NaN;
  let worst = 0;
  let growth = 0;
  let worstText = '';
  for (const piece of pieces) {
    // Each size is given as much text in all.
    const [small, large] = [16_384, longest].map((size) => {
      const text = piece.repeat(Math.ceil(size / piece.length)).slice(0, size);
      return processorTimeOf(find, text, { tries: 5, calls: longest / size }) / (size / 1_024);
    });
    if (small === undefined || large === undefined) continue;
    if (large > worst) [worst, worstText] = [large, piece];
    if (large > 100) growth = Math.max(growth, 1 + Math.log(large / small) / Math.log(16));
  }
  return { p50: at(0.5), p99: at(0.99), worst, growth, worstText: JSON.stringify(worstText.slice(0, 40)) };
}

/** Pieces that repeat what a finder of texts looks for: signs of its own are added by each bench. */
export const hostilePieces: readonly string[] = [
  '1',
  '1 ',
  '12-',
  '(',
  '(1) ',
  '+1 ',
  '@',
  'a@',
  'a@b.',
  'a.b@c.d ',
  '::',
  'a:b:',
  '1.1.',
  '://a:b',
  '=',
  'a=',
  'a1=',
  '"',
  '{"a":',
  '[[',
  '![](',
  '<a href="',
  'key:value,',
  ' ',
  '\n',
  '\t',
  '-',
  '_',
  'a',
  'aA1+/',
  'AAAA',
  '\u0000',
  '\ud800',
  '\udc00',
  '\u200b',
  '\u202e',
  '１',
  '٣',
  '𝟏',
  'é',
  '漢',
  '🙂',
]; // prettier-ignore
