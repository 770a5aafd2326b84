/** Replaces $(NAME) by its value; $$ is a dollar sign; an unknown name stays as it is. */
export const expand = (text: string, values: Pick<ReadonlyMap<string, string>, 'get'>): string =>
  text.replace(/\$(?:\$|\(([^)]*)\))/g, (whole, name: string | undefined) =>
    name === undefined ? '$' : (values.get(name) ?? whole),
  )
