// Letters that are taken for Latin ones (or digits) when read: written for this project from the letters' shapes. Not the whole of Unicode's
// confusables (UTS 39): those that mixed-script attacks use.

/** A Latin letter or digit, and the letters of other scripts that look like it. */
const shapes: Readonly<Record<string, string>> = {
  a: 'аαɑạ',
  b: 'ЬƄ',
  c: 'сϲᴄ',
  d: 'ԁɗ',
  e: 'еҽ℮',
  f: 'ϝ',
  g: 'ɡց',
  h: 'һհ',
  i: 'іιıɩ',
  j: 'јϳ',
  k: 'кκ',
  l: 'ӏǀ',
  m: 'м',
  n: 'ոп',
  o: 'оοօσ',
  p: 'рρ',
  q: 'ԛգ',
  r: 'гᴦ',
  s: 'ѕꜱ',
  t: 'тτ',
  u: 'υսц',
  v: 'ѵν',
  w: 'ԝѡω',
  x: 'хχ',
  y: 'уγү',
  z: 'ᴢ',
  A: 'АΑᎪ',
  B: 'ВΒᏴ',
  C: 'СϹᏟ',
  D: 'Ꭰ',
  E: 'ЕΕᎬ',
  F: 'Ϝ',
  G: 'ԌᏀ',
  H: 'НΗᎻ',
  I: 'ІΙӀ',
  J: 'ЈᎫ',
  K: 'КΚᏦ',
  L: 'Ꮮ',
  M: 'МΜᎷ',
  N: 'Ν',
  O: 'ОΟՕ',
  P: 'РΡᏢ',
  R: 'Ꭱ',
  S: 'ЅՏᏚ',
  T: 'ТΤᎢ',
  U: 'Ս',
  V: 'ѴᏙ',
  W: 'ԜᎳ',
  X: 'ХΧ',
  Y: 'УΥҮ',
  Z: 'ΖᏃ',
};

const latin: ReadonlyMap<string, string> = new Map(
  Object.entries(shapes).flatMap(([letter, others]) => [...others].map((other) => [other, letter] as const)),
);

/** The Latin letter that a letter of another script is taken for. */
export const lookAlikeOf = (letter: string): string | undefined => latin.get(letter);
