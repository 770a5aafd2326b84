/** `text` without the `character`s it ends with; a pattern would begin anew at each of many that do not end it. */
export const trimRight = (text: string, character: string): string => {
  let end = text.length
  while (text[end - 1] === character) end--
  return text.slice(0, end)
}
