import type { KubeObject } from '#api/object.js'

const suffix = '.static.k8s.io'

/** Names that a coming release reserves for configurations that servers read from files; both hooks of a strategy. */
export const staticNameWarnings = () => {
  const warnings = ({ metadata }: KubeObject): string[] =>
    metadata.name?.endsWith(suffix)
      ? [
          `metadata.name: names ending with "${suffix}" are reserved for static manifest-based configurations and cannot be managed via the API`,
        ]
      : []
  return { warningsOnCreate: warnings, warningsOnUpdate: warnings }
}
