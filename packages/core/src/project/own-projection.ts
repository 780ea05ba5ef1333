import type { Awaitable, Projection, ProjectionInfo } from '../define/types.js';

/** What one of core's own projections makes of an output. */
export interface Shown {
  readonly text: string;
  /** Nothing of the output is missing. */
  readonly isWhole: boolean;
  /** What is missing, where the text does not say it itself. Holds nothing of the output: it stands beside the text. */
  readonly note?: string | undefined;
  /** The same for those who call the projection themselves: it follows the text. */
  readonly mark?: string | undefined;
  /** It holds what a text meant, in characters that did not stand there. */
  readonly isReworded?: boolean | undefined;
}
/** How one of core's own projections shows an output. */
export type Show = (output: unknown, info: ProjectionInfo) => Awaitable<Shown>;

/** Not a property of the function: a projection that could call itself core's own would pass unguarded. */
const own = new WeakMap<object, Show>();

const inWords = ({ text, mark }: Shown): string => (mark === undefined ? text : `${text}\n${mark}`);

/** Makes a projection whose result is made of pieces of the guarded output between core's fixed words, unless it says that it is reworded. */
export function ownProjection<K extends string = never>(show: Show): Projection<unknown, K> {
  const projection = (output: unknown, info: ProjectionInfo): Awaitable<string> => {
    const shown = show(output, info);
    return 'text' in shown ? inWords(shown) : shown.then(inWords);
  };
  own.set(projection, show);
  return Object.freeze(projection);
}

/** How one of core's own projections shows an output; what it makes of a guarded one needs no second look, unless it is reworded. Undefined for those of users. */
export function showOf(projection: unknown): Show | undefined {
  return typeof projection === 'function' ? own.get(projection) : undefined;
}
