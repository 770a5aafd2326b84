/** Replaces $(NAME) by its value; $$ is a dollar sign; an unknown name stays as it is. */
export const expand = (text: string, values: Pick<ReadonlyMap<string, string>, 'get'>): string => {
  // Behind the last parenthesis no name ends: it would be looked for from each that begins.
  const end = text.lastIndexOf(')') + 1
  const expanded = text
    .slice(0, end)
    .replace(/\$(?:\$|\(([^)]*)\))/g, (whole, name: string | undefined) =>
      name === undefined ? '$' : (values.get(name) ?? whole),
    )
  return expanded + text.slice(end).replace(/\$\$/g, () => '$')
}
