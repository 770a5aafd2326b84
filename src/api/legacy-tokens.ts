/** How the API server and the cleaner of unused tokens in Secrets know of their uses (kubernetes, serviceaccount/legacy.go). */

/** Since which day uses are noted: a ConfigMap. */
export const legacyTokenTracking = {
  namespace: 'kube-system',
  name: 'kube-apiserver-legacy-service-account-token-tracking',
} as const

/** Labels of Secrets; their values are days. */
export const lastUsedLabel = 'kubernetes.io/legacy-token-last-used'
export const invalidSinceLabel = 'kubernetes.io/legacy-token-invalid-since'
