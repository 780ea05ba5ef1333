/** Reads a value as Python writes it: dictionaries, lists, tuples, texts, numbers, True, False, None. A text that is none is given as it is. */
export function readPythonValue(text: string): unknown {
  try {
    const reader = new Reader(text);
    const value = reader.value();
    return reader.isAtEnd ? value : text;
  } catch {
    return text;
  }
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };
const words: Readonly<Record<string, unknown>> = { True: true, False: false, None: null };

class Reader {
  private at = 0;
  constructor(private readonly text: string) {}

  get isAtEnd(): boolean {
    this.space();
    return this.at >= this.text.length;
  }

  value(): unknown {
    this.space();
    const char = this.text.charAt(this.at);
    if (char === '{') return this.dictionary();
    if (char === '[' || char === '(') return this.list(char === '[' ? ']' : ')');
    if (char === "'" || char === '"') return this.string(char);
    const word = /^[A-Za-z]+|^-?[\d.]+(?:[eE][+-]?\d+)?/.exec(this.text.slice(this.at, this.at + 40))?.[0] ?? '';
    if (word === '' || (!Object.hasOwn(words, word) && Number.isNaN(Number(word)))) throw new SyntaxError('no value');
    this.at += word.length;
    return Object.hasOwn(words, word) ? words[word] : Number(word);
  }

  private dictionary(): unknown {
    const entries: [string, unknown][] = [];
    this.items('}', () => {
      const key = this.value();
      this.take(':');
      entries.push([String(key), this.value()]);
    });
    return Object.fromEntries(entries);
  }

  private list(end: string): unknown {
    const values: unknown[] = [];
    this.items(end, () => values.push(this.value()));
    return values;
  }

  private items(end: string, read: () => void): void {
    this.at += 1;
    this.space();
    while (this.text.charAt(this.at) !== end) {
      read();
      this.space();
      if (this.text.charAt(this.at) === ',') this.at += 1;
      else if (this.text.charAt(this.at) !== end) throw new SyntaxError('no end');
      this.space();
    }
    this.at += 1;
  }

  private string(quote: string): string {
    let found = '';
    for (this.at += 1; this.text.charAt(this.at) !== quote; this.at += 1) {
      if (this.at >= this.text.length) throw new SyntaxError('no end of a text');
      if (this.text.charAt(this.at) === '\\') {
        this.at += 1;
        const letter = this.text.charAt(this.at);
        found += escapes[letter] ?? letter;
      } else found += this.text.charAt(this.at);
    }
    this.at += 1;
    return found;
  }

  private take(char: string): void {
    this.space();
    if (this.text.charAt(this.at) !== char) throw new SyntaxError(`no ${char}`);
    this.at += 1;
  }

  private space(): void {
    while (this.text.charAt(this.at) === ' ' || this.text.charAt(this.at) === '\n') this.at += 1;
  }
}
