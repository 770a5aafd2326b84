/** In the order of UTF-16 code units, for `sort`: that of Go's strings for all texts of ASCII. */
export const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
