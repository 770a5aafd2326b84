/**
 * Tokens of ServiceAccounts in Secrets, and how the API server and the cleaner of unused ones know of their uses
 * (kubernetes, serviceaccount/legacy.go).
 */

/** Since which day uses are noted: a ConfigMap. */
export const legacyTokenTracking = {
  namespace: 'kube-system',
  name: 'kube-apiserver-legacy-service-account-token-tracking',
} as const

/** Labels of Secrets; their values are days. */
export const lastUsedLabel = 'kubernetes.io/legacy-token-last-used'
export const invalidSinceLabel = 'kubernetes.io/legacy-token-invalid-since'

/** The Secret of a token, and its annotations that say of which account it is. */
export const tokenSecretType = 'kubernetes.io/service-account-token'
export const accountNameAnnotation = 'kubernetes.io/service-account.name'
export const accountUidAnnotation = 'kubernetes.io/service-account.uid'
/** Who issues such tokens. */
export const legacyIssuer = 'kubernetes/serviceaccount'
