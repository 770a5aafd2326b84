/** A number that a name or an annotation tells, from 0 to the largest int32; of anything else upstream knows nothing. */
const int32Max = 2 ** 31 - 1

export const parseCount = (text: string | undefined): number | undefined => {
  if (text === undefined || !/^\d+$/.test(text)) return undefined
  const count = Number(text)
  return count <= int32Max ? count : undefined
}
