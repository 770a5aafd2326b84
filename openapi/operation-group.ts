/** `rbac.authorization.k8s.io` → `RbacAuthorization`: the form of a group in operationIds and tags. */
export const operationGroup = (group: string): string =>
  group === ''
    ? 'Core'
    : group
        .replace(/\.k8s\.io$/, '')
        .split(/[^A-Za-z0-9]+/)
        .map((part) => part.slice(0, 1).toUpperCase() + part.slice(1))
        .join('')
