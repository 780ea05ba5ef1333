// Writes to the terminal in two columns: who, and what. Long text is wrapped at words, also while it streams in.
import type { Colour, Paint } from './paint.js';

const gutter = 12;

export interface Line {
  readonly who: string;
  readonly colour: Colour;
  readonly text: string;
  /** Of the text; default: the terminal's own. */
  readonly textColour?: Colour | undefined;
}

export class Screen {
  private column = 0;
  private isOpen = false;
  private pending = '';
  /** Between the last word and the next: written only if the line goes on. */
  private blanks = 0;

  constructor(
    private readonly write: (text: string) => void,
    readonly paint: Paint,
    private readonly width: number,
  ) {}

  /** A whole line. */
  line({ who, colour, text, textColour }: Line): void {
    this.close();
    const rows = wrap(text, this.width - gutter - 3);
    for (const [index, row] of rows.entries()) {
      this.write(`${this.head(index === 0 ? who : '', colour)}${textColour === undefined ? row : this.paint(textColour, row)}\n`);
    }
  }

  /** A piece of a text that flows; the line stays open until something else is written. */
  flow(who: string, colour: Colour, text: string): void {
    if (!this.isOpen) {
      this.write(this.head(who, colour));
      this.isOpen = true;
      this.column = 0;
      this.blanks = 0;
    }
    this.pending += text;
    // The last word may go on in the next piece.
    const end = Math.max(this.pending.lastIndexOf(' '), this.pending.lastIndexOf('\n')) + 1;
    this.put(this.pending.slice(0, end));
    this.pending = this.pending.slice(end);
  }

  /** Ends a line that flows. */
  close(): void {
    if (!this.isOpen) return;
    this.put(this.pending);
    this.pending = '';
    this.write('\n');
    this.isOpen = false;
  }

  title(text: string): void {
    this.close();
    this.write(`\n${this.paint('bold', text)} ${this.paint('dim', '─'.repeat(Math.max(0, this.width - text.length - 1)))}\n`);
  }

  /** A line without columns. */
  plain(text = '', colour?: Colour): void {
    this.close();
    for (const row of wrap(text, this.width)) this.write(`${colour === undefined ? row : this.paint(colour, row)}\n`);
  }

  private head(who: string, colour: Colour): string {
    return `${this.paint(colour, who.padStart(gutter))} ${this.paint('dim', '│')} `;
  }

  private put(text: string): void {
    for (const piece of text.match(/\n| +|[^\s]+/g) ?? []) {
      const isBlank = piece.trim() === '';
      if (piece === '\n' || (!isBlank && this.column + piece.length > this.width - gutter - 3)) {
        this.write(`\n${this.head('', 'dim')}`);
        this.column = 0;
      } else if (this.column > 0) this.write(' '.repeat(this.blanks));
      this.blanks = isBlank && piece !== '\n' ? piece.length : 0;
      this.column += piece.length;
      if (!isBlank) this.write(piece);
    }
  }
}

function wrap(text: string, width: number): readonly string[] {
  const rows: string[] = [];
  for (const paragraph of text.split('\n')) {
    let row = '';
    for (const word of paragraph.split(/(?<=\s)/)) {
      if (row !== '' && row.length + word.trimEnd().length > width) {
        rows.push(row.trimEnd());
        row = '';
      }
      row += word;
    }
    rows.push(row.trimEnd());
  }
  return rows;
}
