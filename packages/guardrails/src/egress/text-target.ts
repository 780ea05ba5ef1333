/** A place in a text that names where something leads. */
export interface TextTarget {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  /** `image`: an image. `content`: anything else that is fetched without a click. `link`: what a person must follow. `script`: what is run. */
  readonly kind: 'image' | 'content' | 'link' | 'script';
  /** The target, if it is not the text between `start` and `end`. */
  readonly target?: string | undefined;
}
