/** Several messages in one text, each once, as Go's aggregates print them; undefined for none. */
export const aggregate = (messages: readonly string[]): string | undefined => {
  const texts = [...new Set(messages)]
  return texts.length > 1 ? `[${texts.join(', ')}]` : texts[0]
}
