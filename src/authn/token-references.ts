import type { KubeObject } from '#api/object.js'

/** The objects that tokens of ServiceAccounts are bound to. */
export interface TokenReferences {
  /** Undefined: there is none of that name, or it cannot be read. */
  find(
    resource: 'serviceaccounts' | 'pods' | 'secrets' | 'nodes',
    namespace: string,
    name: string,
  ): Promise<KubeObject | undefined>
  /** Beside those that it has; nothing is told of a failure. */
  label(secret: KubeObject, labels: Readonly<Record<string, string>>): Promise<void>
}
