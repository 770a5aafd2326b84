export const upper = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

/**
 * The form of a name in operationIds: what stands between letters and digits is left out, and the next letter is a
 * capital, as is the first (ToValidOperationID): a kind `postgresql` is listed by `list…PostgresqlForAllNamespaces`.
 */
export const operationName = (text: string): string =>
  text
    .split(/[^A-Za-z0-9_]+/)
    .map(upper)
    .join('')

/** `rbac.authorization.k8s.io` → `RbacAuthorization`: the form of a group in operationIds and tags. */
export const operationGroup = (group: string): string =>
  group === '' ? 'Core' : operationName(group.replace(/\.k8s\.io$/, ''))
