/** What may come next. */
type Expected = 'value' | 'valueOrEnd' | 'key' | 'keyOrEnd' | 'colon' | 'inObject' | 'inArray' | 'nothing';
/** `close`: a level up; `after`: a value is whole. */
type Move = Expected | 'openObject' | 'openArray' | 'close' | 'after';
type Token = '{' | '[' | '}' | ']' | ',' | ':' | '"' | 'plain';

const space = /[ \t\n\r]*/y;
const plain = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const inString = /(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y;

const value = { '{': 'openObject', '[': 'openArray', '"': 'after', plain: 'after' } as const;
const moves: { readonly [E in Expected]: { readonly [T in Token]?: Move } } = {
  value,
  valueOrEnd: { ...value, ']': 'close' },
  key: { '"': 'colon' },
  keyOrEnd: { '"': 'colon', '}': 'close' },
  colon: { ':': 'value' },
  inObject: { ',': 'key', '}': 'close' },
  inArray: { ',': 'value', ']': 'close' },
  nothing: {},
};
const faults: { readonly [E in Expected]: string } = {
  value: 'no value where one is due',
  valueOrEnd: 'no value where one is due',
  key: 'no key in quotes where one is due',
  keyOrEnd: 'no key in quotes where one is due',
  colon: 'no colon after a key',
  inObject: 'neither comma nor end after a value',
  inArray: 'neither comma nor end after a value',
  nothing: 'something behind the JSON value',
};

/** Why a text is no JSON, and where, in words that quote nothing of it and are the same in every engine. Undefined: it is JSON. */
export function jsonFault(text: string): string | undefined {
  const open: ('inObject' | 'inArray')[] = [];
  let expected: Expected = 'value';
  let at = skip(space, text, 0);
  while (at < text.length) {
    const token: Token = tokenAt(text, at);
    const move: Move | undefined = moves[expected][token];
    const end = endOf(token, text, at);
    if (move === undefined || end === at) return `${faults[expected]}, at position ${at}`;
    if (end < 0) return stringFault(text, at);
    expected = follow(move, open);
    at = skip(space, text, end);
  }
  return expected === 'nothing' ? undefined : `it ends too early, at position ${at}`;
}

function follow(move: Move, open: ('inObject' | 'inArray')[]): Expected {
  switch (move) {
    case 'openObject':
      open.push('inObject');
      return 'keyOrEnd';
    case 'openArray':
      open.push('inArray');
      return 'valueOrEnd';
    case 'close':
      open.pop();
      return open.at(-1) ?? 'nothing';
    case 'after':
      return open.at(-1) ?? 'nothing';
    default:
      return move;
  }
}

function tokenAt(text: string, at: number): Token {
  const character = text[at] ?? '';
  return '{[}],:"'.includes(character) ? (character as Token) : 'plain';
}

/** Where a token ends: where it begins if it is none, below 0 for a broken string. */
function endOf(token: Token, text: string, at: number): number {
  if (token === 'plain') return skip(plain, text, at);
  if (token !== '"') return at + 1;
  const end = skip(inString, text, at + 1);
  return text[end] === '"' ? end + 1 : -1;
}

/** Where a pattern that stands here ends. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

function stringFault(text: string, start: number): string {
  const end = skip(inString, text, start + 1);
  if (end >= text.length) return `a string that is not closed, from position ${start}`;
  return text[end] === '\\' ? `a bad escape, at position ${end}` : `a control character that is not escaped, at position ${end}`;
}
