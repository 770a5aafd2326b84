import { limits } from '#limits'

/** As the system says it of the same. */
export const tooLong = (): Error => new Error('argument list too long')

/**
 * Replaces $(NAME) by its value; $$ is a dollar sign; an unknown name stays as it is. Throws for a text that would become
 * too long: each variable may name the one before twice.
 */
export const expand = (text: string, values: Pick<ReadonlyMap<string, string>, 'get'>): string => {
  // Behind the last parenthesis no name ends: it would be looked for from each that begins.
  const end = text.lastIndexOf(')') + 1
  let length = text.length
  const expanded = text
    .slice(0, end)
    .replace(/\$(?:\$|\(([^)]*)\))/g, (whole, name: string | undefined) => {
      const by = name === undefined ? '$' : (values.get(name) ?? whole)
      length += by.length - whole.length
      if (length > limits.argumentsLengthMax) throw tooLong()
      return by
    })
  return expanded + text.slice(end).replace(/\$\$/g, () => '$')
}

/** Words of one command. Throws if they become too long together. */
export const expandAll = (
  words: readonly string[],
  values: Pick<ReadonlyMap<string, string>, 'get'>,
): string[] => {
  let left: number = limits.argumentsLengthMax
  return words.map((word) => {
    const expanded = expand(word, values)
    left -= expanded.length
    if (left < 0) throw tooLong()
    return expanded
  })
}
