/** `text` without the `character`s at its end. Linear: `/x+$/` would try again at each run of them inside the text. */
export const trimRight = (text: string, character: string): string => {
  let end = text.length
  while (text[end - 1] === character) end--
  return text.slice(0, end)
}
