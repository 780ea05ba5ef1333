/** A view of an array that cannot be written through; live. */
export function readOnly<T>(items: readonly T[]): readonly T[] {
  return new Proxy(items as T[], readOnlyHandler) as readonly T[];
}

const refuse = (): boolean => false;
const readOnlyHandler: ProxyHandler<object> = {
  set: refuse,
  defineProperty: refuse,
  deleteProperty: refuse,
  setPrototypeOf: refuse,
  preventExtensions: refuse,
};
