/** Whether a record has every value that a query asks for in these fields. */
export function fitsQuery<K extends string>(
  record: { readonly [N in K]?: unknown },
  query: { readonly [N in K]?: unknown },
  fields: readonly K[],
): boolean {
  return fields.every((field) => query[field] === undefined || query[field] === record[field]);
}
