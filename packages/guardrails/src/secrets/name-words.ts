/** A name, read as its words. */
export interface NameWords {
  /** In lower case, without punctuation: `awssecretaccesskey`. */
  readonly plain: string;
  /** Offsets in `plain` at which a word begins. */
  readonly starts: readonly number[];
}

/** Words begin after punctuation and at a change of case or to and from digits: `awsSecretKey`, `AWS_SECRET_KEY`, `aws-secret-key`. */
export function wordsOfName(name: string): NameWords {
  let plain = '';
  const starts: number[] = [];
  let before = 0;
  for (let at = 0; at < name.length; at += 1) {
    const code = name.charCodeAt(at);
    const kind = kindOf(code);
    if (kind !== 0) {
      if (before !== kind && !(before === 2 && kind === 1)) starts.push(plain.length);
      else if (before === 2 && kind === 2 && kindOf(name.charCodeAt(at + 1)) === 1) starts.push(plain.length);
      plain += kind === 2 ? String.fromCharCode(code + 32) : name.charAt(at);
    }
    before = kind;
  }
  return { plain, starts };
}

/** 1 lower case, 2 upper case, 3 digit, 0 neither. */
function kindOf(code: number): 0 | 1 | 2 | 3 {
  if (code >= 0x61 && code <= 0x7a) return 1;
  if (code >= 0x41 && code <= 0x5a) return 2;
  return code >= 0x30 && code <= 0x39 ? 3 : 0;
}

/** Whether a text begins at a word of the name; of a list, all of its texts. */
export function hasWords(name: NameWords, words: string | readonly string[]): boolean {
  if (typeof words !== 'string') return words.every((word) => hasWords(name, word));
  for (let at = name.plain.indexOf(words); at !== -1; at = name.plain.indexOf(words, at + 1)) if (name.starts.includes(at)) return true;
  return false;
}
