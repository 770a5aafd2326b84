/** What keeps storage objects that are in use from being removed (kubernetes, pkg/volume/util/finalizer.go). */
export const protectionFinalizers = {
  claim: 'kubernetes.io/pvc-protection',
  volume: 'kubernetes.io/pv-protection',
  attributesClass: 'kubernetes.io/vac-protection',
} as const
