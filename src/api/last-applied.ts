/** Where `kubectl apply` keeps what it has applied. */
export const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration'
