import { urlsIn } from '../egress/urls.js';
import type { TextFinding } from '../text/finding.js';
import { findHidden } from '../unicode/find-hidden.js';
import { normalise } from '../unicode/normalise.js';
import { decodedPieces } from './encoded.js';
import { markSigns } from './marks.js';
import type { Sign } from './signs.js';
import { wordSigns } from './signs.js';
import { squeezedSigns } from './squeezed.js';
import { readTokens } from './tokens.js';

/** Signs that are further apart than this many characters do not speak for one instruction. */
const reach = 800;
const none: ReadonlySet<string> = new Set();

/** Where instructions seem to hide in data. `threshold`: sum of weights, each kind counted once. Time grows with the length; never throws. */
export function injectionIn(text: string, threshold: number): readonly TextFinding[] {
  return together(text, signsIn(text), threshold);
}

/** All signs of a text, with their places in it. */
export function signsIn(text: string): readonly Sign[] {
  const found: Sign[] = [...saidIn(text)];
  for (const piece of decodedPieces(text)) {
    const inside = saidIn(piece.text);
    const { start, end } = piece;
    found.push(...inside.map((sign) => ({ ...sign, start, end })));
    if (inside.some(({ kind }) => kind !== 'urgency')) found.push({ start, end, kind: 'encoded', weight: 0.5 });
  }
  const hidden = findHidden(text, none).filter(
    ({ kind }) => kind === 'tag-characters' || kind === 'variation-selectors' || kind === 'bidi-control' || kind === 'mixed-script',
  );
  for (const { start, end, kind } of hidden) found.push({ start, end, kind: 'hidden', weight: kind === 'tag-characters' ? 0.6 : 0.3 });
  return found;
}

function saidIn(text: string): readonly Sign[] {
  const { text: plain, start, end } = normalise(text);
  const { plain: said, disguised } = readTokens(plain);
  const found: Sign[] = [...markSigns(plain), ...wordSigns(said), ...squeezedSigns(plain)];
  for (const reading of disguised) {
    const signs = wordSigns(reading);
    found.push(...signs);
    for (const { start: from, end: to } of signs.slice(0, 1)) found.push({ start: from, end: to, kind: 'encoded', weight: 0.5 });
  }
  // An order to send counts for more where it says to whom.
  if (found.some(({ kind }) => kind === 'destination')) {
    const urls = urlsIn(plain);
    for (const sign of found.filter(({ kind }) => kind === 'destination')) {
      const near = urls.find((url) => url.start >= sign.start && url.start < sign.end + 160);
      if (near !== undefined) found.push({ start: sign.start, end: Math.max(sign.end, near.end), kind: 'destination', weight: 0.5 });
    }
  }
  return found.map((sign) => ({ ...sign, start: start(sign.start), end: end(sign.end) }));
}

/** Groups of signs near each other whose weights reach the threshold. */
function together(text: string, signs: readonly Sign[], threshold: number): readonly TextFinding[] {
  const sorted = [...signs].sort((left, right) => left.start - right.start);
  const found: TextFinding[] = [];
  let from = 0;
  for (let to = 0; to < sorted.length; to += 1) {
    const last = sorted[to];
    if (last === undefined) break;
    while ((sorted[from]?.start ?? 0) < last.start - reach) from += 1;
    const group = sorted.slice(Math.max(from, to - 64), to + 1);
    if (sumOf(group) < threshold - 1e-9) continue;
    const start = beginOfSentence(text, group[0]?.start ?? 0);
    const end = endOfSentence(text, Math.max(...group.map((sign) => sign.end)));
    const before = found.at(-1);
    if (before !== undefined && start <= before.end) found[found.length - 1] = { ...before, end: Math.max(end, before.end) };
    else found.push({ start, end, kind: 'injection' });
  }
  return found;
}

function sumOf(group: readonly Sign[]): number {
  const heaviest = new Map<string, number>();
  for (const { kind, weight } of group) heaviest.set(kind, Math.max(weight, heaviest.get(kind) ?? 0));
  let sum = 0;
  for (const weight of heaviest.values()) sum += weight;
  return sum;
}

function beginOfSentence(text: string, at: number): number {
  const before = text.slice(Math.max(0, at - 300), at);
  const match = /[\s\S]*[.!?\n]\s*/.exec(before);
  return match === null ? Math.max(0, at - before.length) : at - before.length + match[0].length;
}
function endOfSentence(text: string, at: number): number {
  const after = text.slice(at, at + 300).search(/[.!?\n]/);
  return after === -1 ? Math.min(text.length, at + 300) : at + after + 1;
}
