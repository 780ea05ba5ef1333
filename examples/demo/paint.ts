// Colours, where the terminal has them.

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;
export type Colour = keyof typeof codes;
export type Paint = (colour: Colour, text: string) => string;

interface Terminal {
  readonly isTTY?: boolean | undefined;
}

/** Plain where the output is no terminal, or `NO_COLOR` is set; `FORCE_COLOR` turns colours on. */
export function choosePaint(output: Terminal, environment: Readonly<Record<string, string | undefined>>): Paint {
  const { NO_COLOR: no, FORCE_COLOR: forced, TERM: term } = environment;
  const isColoured =
    no === undefined || no === '' ? (forced !== undefined && forced !== '0') || (output.isTTY === true && term !== 'dumb') : false;
  return isColoured ? (colour, text) => `\u001b[${codes[colour]}m${text}\u001b[0m` : (_colour, text) => text;
}
