import type { Projection } from '../define/types.js';

/** Not a property of the function: a projection that could call itself core's own would pass unguarded. */
const own = new WeakSet<object>();

/** Marks a projection whose result is made of pieces of the guarded output between core's fixed words. */
export function ownProjection<P extends Projection<never, string>>(projection: P): P {
  own.add(projection);
  return Object.freeze(projection);
}

/** True: what it makes of a guarded output needs no second look. */
export function isOwnProjection(projection: unknown): boolean {
  return typeof projection === 'function' && own.has(projection);
}
