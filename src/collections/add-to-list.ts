/** Adds to the list of a key, which begins with its first item. */
export const addToList = <K, V>(lists: Map<K, V[]>, key: K, item: V): void => {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [item])
  else list.push(item)
}
