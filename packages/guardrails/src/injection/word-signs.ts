import type { Sign } from './sign.js';
import type { Reading } from './tokens.js';
import { openers, rules, word } from './word-rules.js';

/** Signs made of words. Each rule looks a bounded number of words ahead, so time grows with the length. */
export function wordSigns(reading: Reading): readonly Sign[] {
  const found: Sign[] = [];
  const { starts, ends, meanings } = reading;
  for (let index = 0; index < meanings.length; index += 1) {
    const meaning = meanings[index] ?? 0;
    if (meaning === 0 && !openers.has(word(reading, index))) continue;
    for (const rule of rules) {
      const last = rule.first === undefined || (meaning & rule.first) !== 0 ? rule.match(reading, index) : undefined;
      if (last === undefined) continue;
      const [from, to] = [Math.min(starts[index] ?? 0, starts[last] ?? 0), Math.max(ends[index] ?? 0, ends[last] ?? 0)];
      const isMention = reading.quoted[index] === true;
      found.push({ start: from, end: to, kind: rule.kind, weight: isMention ? rule.weight / 4 : rule.weight });
    }
  }
  return found;
}
