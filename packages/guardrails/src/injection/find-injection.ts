import { urlsIn } from '../egress/urls.js';
import { withoutEscapes } from '../text/escapes.js';
import type { TextFinding } from '../text/finding.js';
import { findHidden } from '../unicode/find-hidden.js';
import { normalise } from '../unicode/normalise.js';
import { partsOf } from '../unicode/parts.js';
import { decodedPieces } from './encoded.js';
import { markSigns } from './marks.js';
import type { Sign, SignKind } from './sign.js';
import { squeezedSigns } from './squeezed.js';
import { readTokens } from './tokens.js';
import { wordSigns } from './word-signs.js';

/** Signs that are further apart than this many characters do not speak for one instruction. */
const reach = 800;
const none: ReadonlySet<string> = new Set();

/** Where instructions seem to hide in data. `threshold`: sum of weights, each kind counted once. Time grows with the length; never throws. */
export function injectionIn(text: string, threshold: number): readonly TextFinding[] {
  // Sentences end where an escaped line does.
  return together(withoutEscapes(text), signsIn(text), threshold);
}

/** All signs of a text, with their places in it. */
export function signsIn(text: string): readonly Sign[] {
  const found: Sign[] = [];
  for (const part of partsOf(text, reach)) {
    for (const sign of signsOfPart(part.text)) {
      const start = sign.start + part.offset;
      if (start >= part.start && start < part.end) found.push({ start, end: sign.end + part.offset, kind: sign.kind, weight: sign.weight });
    }
  }
  return found;
}

function signsOfPart(text: string): readonly Sign[] {
  const found: Sign[] = [...saidIn(text)];
  for (const { start, end, text: words } of decodedPieces(text)) {
    const inside = saidIn(words);
    for (const sign of inside) found.push({ ...sign, start, end });
    if (inside.some(({ kind }) => kind !== 'urgency')) found.push({ start, end, kind: 'encoded', weight: 0.5 });
  }
  found.push(...hiddenSigns(text));
  return found;
}

/** Weights of what is hidden; what stands close together is one sign. */
const hiddenWeights: Readonly<Record<string, number>> = {
  'tag-characters': 0.6,
  'variation-selectors': 0.3,
  'bidi-control': 0.3,
  'mixed-script': 0.3,
};
function hiddenSigns(text: string): readonly Sign[] {
  const found: Sign[] = [];
  for (const { start, end, kind } of findHidden(text, none)) {
    const weight = hiddenWeights[kind];
    const last = found.at(-1);
    if (weight === undefined) continue;
    if (last !== undefined && last.weight === weight && start - last.end < 16) found[found.length - 1] = { ...last, end };
    else found.push({ start, end, kind: 'hidden', weight });
  }
  return found;
}

function saidIn(text: string): readonly Sign[] {
  const { text: plain, start, end } = normalise(withoutEscapes(text));
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
      if (near !== undefined)
        found.push({
          start: sign.start,
          end: Math.max(sign.end, near.end),
          kind: 'destination',
          weight: isPrecious(plain.slice(sign.start, sign.end)) ? 0.8 : 0.6,
        });
    }
  }
  return found.map((sign) => ({ start: start(sign.start), end: end(sign.end), kind: sign.kind, weight: sign.weight }));
}

/** What opens doors is sent to nobody. */
const isPrecious = (words: string): boolean => /\b(?:passwords?|credentials?|tokens?|secrets?|keys?|cookies?)\b/.test(words);

/** Groups of signs near each other whose weights reach the threshold, of each kind the heaviest. */
function together(text: string, signs: readonly Sign[], threshold: number): readonly TextFinding[] {
  const sorted = [...signs].sort((left, right) => left.start - right.start);
  const groups: { start: number; end: number }[] = [];
  /** Of each kind the signs within reach that count or will, the heaviest first. */
  const near = new Map<SignKind, Sign[]>();
  for (const sign of sorted) {
    const same = (near.get(sign.kind) ?? []).filter(({ weight, start }) => weight > sign.weight && start >= sign.start - reach);
    near.set(sign.kind, [...same, sign]);
    let [sum, start, end] = [0, sign.start, sign.end];
    for (const list of near.values()) {
      const heaviest = list.find((other) => other.start >= sign.start - reach);
      if (heaviest === undefined) continue;
      sum += heaviest.weight;
      start = Math.min(start, heaviest.start);
      end = Math.max(end, heaviest.end);
    }
    if (sum < threshold - 1e-9) continue;
    const last = groups.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else groups.push({ start, end });
  }
  const found: TextFinding[] = [];
  for (const group of groups) {
    const [start, end] = [beginOfSentence(text, group.start), endOfSentence(text, group.end)];
    const before = found.at(-1);
    if (before !== undefined && start <= before.end) found[found.length - 1] = { ...before, end: Math.max(end, before.end) };
    else found.push({ start, end, kind: 'injection' });
  }
  return found;
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
