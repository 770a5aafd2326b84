import type { Fields, KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'

/** Secrets are references by name; upstream keeps nothing else of them. */
const cleanSecrets = (account: KubeObject): void => {
  if (account.secrets === undefined) return
  account.secrets = (account.secrets as Fields[]).map(({ name }) => (name ? { name } : {}))
}

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  strategy: { prepareForCreate: cleanSecrets, prepareForUpdate: cleanSecrets },
  sample: { metadata: { name: 'sample' } },
})
