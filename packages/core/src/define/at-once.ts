import { property } from './definition-reader.js';

/** What a function gave that is to answer at once. Where that is a promise nobody waits for it, and its rejection is nobody's: it must end no process. */
export function atOnce<T>(given: T): T {
  if (typeof given === 'object' && typeof property(given, 'then') === 'function') Promise.resolve(given).then(undefined, () => undefined);
  return given;
}
