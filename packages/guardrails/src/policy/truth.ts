/** Whether something holds; undefined: it cannot be decided, since a value is missing or of another kind. */
export type Truth = boolean | undefined;

export const not = (truth: Truth): Truth => (truth === undefined ? undefined : !truth);

/** False where one is false, else undecided where one is. Asks no further than a false one. */
export function every<T>(items: readonly T[], ask: (item: T) => Truth): Truth {
  let all: Truth = true;
  for (const item of items) {
    const truth = ask(item);
    if (truth === false) return false;
    if (truth === undefined) all = undefined;
  }
  return all;
}

/** True where one is true, else undecided where one is. Asks no further than a true one. */
export function some<T>(items: readonly T[], ask: (item: T) => Truth): Truth {
  let any: Truth = false;
  for (const item of items) {
    const truth = ask(item);
    if (truth === true) return true;
    if (truth === undefined) any = undefined;
  }
  return any;
}
