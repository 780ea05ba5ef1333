// RFC 3492, for labels of hosts: at most 63 characters, so its quadratic time is bounded.

/** A host with its `xn--` labels as people read them. A label that is none stays as it is. */
export function readableHost(host: string): string {
  return host
    .split('.')
    .map((label) => (label.startsWith('xn--') && label.length <= 63 ? (decode(label.slice(4)) ?? label) : label))
    .join('.');
}

function decode(input: string): string | undefined {
  const dash = input.lastIndexOf('-');
  const output: number[] = dash > 0 ? [...input.slice(0, dash)].map((letter) => letter.codePointAt(0) ?? 0) : [];
  let [n, i, bias] = [128, 0, 72];
  let at = dash > 0 ? dash + 1 : 0;
  while (at < input.length) {
    const before = i;
    for (let weight = 1, k = 36; ; k += 36) {
      const digit = digitOf(input.charCodeAt(at));
      at += 1;
      if (digit === undefined) return undefined;
      i += digit * weight;
      const threshold = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
      if (digit < threshold) break;
      weight *= 36 - threshold;
    }
    const length = output.length + 1;
    bias = adapt(i - before, length, before === 0);
    n += Math.floor(i / length);
    i %= length;
    if (n > 0x10ffff) return undefined;
    output.splice(i, 0, n);
    i += 1;
  }
  return String.fromCodePoint(...output);
}

function digitOf(code: number): number | undefined {
  if (code >= 0x61 && code <= 0x7a) return code - 0x61;
  return code >= 0x30 && code <= 0x39 ? code - 0x30 + 26 : undefined;
}

function adapt(delta: number, length: number, isFirst: boolean): number {
  let rest = isFirst ? Math.floor(delta / 700) : delta >> 1;
  rest += Math.floor(rest / length);
  let k = 0;
  for (; rest > 455; k += 36) rest = Math.floor(rest / 35);
  return k + Math.floor((36 * rest) / (rest + 38));
}
