import type { Fields, KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'

/** Secrets are referenced by name; upstream drops every other field. */
const cleanSecrets = (account: KubeObject): void => {
  if (account.secrets === undefined) return
  account.secrets = (account.secrets as Fields[]).map(({ name }) => (name ? { name } : {}))
}

const mountAnnotation = 'kubernetes.io/enforce-mountable-secrets'

const hasMountAnnotation = (account: KubeObject | undefined): boolean =>
  account?.metadata.annotations?.[mountAnnotation] !== undefined

const mountWarnings = (account: KubeObject, previous?: KubeObject): string[] =>
  !hasMountAnnotation(account) || hasMountAnnotation(previous)
    ? []
    : [
        `metadata.annotations[${mountAnnotation}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
      ]

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  strategy: {
    prepareForCreate: cleanSecrets,
    prepareForUpdate: cleanSecrets,
    warningsOnCreate: (account) => mountWarnings(account),
    warningsOnUpdate: mountWarnings,
  },
  sample: { metadata: { name: 'sample' } },
})
