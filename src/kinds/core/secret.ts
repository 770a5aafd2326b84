import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { secretWarnings, validateSecret, validateSecretUpdate } from '#validation/config-data.js'

/** `stringData` can only be written: its values override those of `data`. */
const mergeStringData = (secret: KubeObject): void => {
  if (secret.stringData === undefined) return
  const data: Record<string, string> = { ...secret.data }
  const given = secret.stringData as Record<string, string>
  const encoded = Object.entries(given).map(([key, value]): [string, string] => [
    key,
    Buffer.from(value).toString('base64'),
  ])
  secret.data = { ...data, ...Object.fromEntries(encoded) }
  delete secret.stringData
}

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'Secret',
  strategy: {
    default: (secret) => {
      secret.type ??= 'Opaque'
      mergeStringData(secret)
    },
    warningsOnCreate: secretWarnings,
    warningsOnUpdate: secretWarnings,
    validate: validateSecret,
    metadataRevalidation: 'placed',
    validateUpdate: (next, previous, _, metadata) => validateSecretUpdate(next, previous, metadata),
  },
  sample: { metadata: { name: 'sample' }, data: { a: 'YQ==' } },
})
