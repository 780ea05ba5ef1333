/** 14 characters of `[a-z0-9]` that depend on the text alone: 64 bits, for names that must not clash by accident. Not a secure hash. */
export function shortHash(text: string): string {
  let high = 0x9e3779b1;
  let low = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul((high << 5) | (high >>> 27), 0x85ebca6b) ^ unit;
  }
  return half(mix(high ^ (low >>> 15))) + half(mix(low + high));
}

function mix(bits: number): number {
  let mixed = bits ^ (bits >>> 16);
  mixed = Math.imul(mixed, 0x7feb352d);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0x846ca68b);
  return mixed ^ (mixed >>> 16);
}

function half(bits: number): string {
  return (bits >>> 0).toString(36).padStart(7, '0');
}
