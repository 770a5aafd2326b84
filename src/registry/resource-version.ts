/** resourceVersion in the API is a string, inside of storage a number. */

/** Undefined for what is no unsigned integer; 0 for the empty string. */
export const parseResourceVersion = (text: string): number | undefined => {
  if (text === '') return 0
  if (!/^[0-9]+$/.test(text)) return undefined
  const revision = Number(text)
  return Number.isSafeInteger(revision) ? revision : undefined
}

export const formatResourceVersion = (revision: number): string => String(revision)
