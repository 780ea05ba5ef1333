import type { SessionStore } from '@guardloop/core';

/** The same store as another process has it: the same sessions behind another object. */
export const fromElsewhere = (store: SessionStore): SessionStore => ({
  load: (id, afterSeq) => store.load(id, afterSeq),
  append: (id, events, afterSeq) => store.append(id, events, afterSeq),
});

/** A store that counts what it is asked. */
export function counting(store: SessionStore): SessionStore & { readonly asked: { loads: number; appends: number } } {
  const asked = { loads: 0, appends: 0 };
  return {
    asked,
    load(id, afterSeq) {
      asked.loads += 1;
      return store.load(id, afterSeq);
    },
    append(id, events, afterSeq) {
      asked.appends += 1;
      return store.append(id, events, afterSeq);
    },
  };
}
