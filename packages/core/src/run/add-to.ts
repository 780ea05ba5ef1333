/** The list with one more item. Lists that mostly stay short begin with room for one, where `push` would make room for many. */
export function addTo<T>(list: T[] | undefined, item: T): T[] {
  if (list === undefined) return [item];
  list.push(item);
  return list;
}
