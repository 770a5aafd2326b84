/** Where claims and volumes named their class before it was a field. */
export const storageClassAnnotation = 'volume.beta.kubernetes.io/storage-class'

interface Classed {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
  readonly spec?: { readonly storageClassName?: string }
}

/** The class that a claim or volume names. The empty name is one, too: of no class. */
export const namedStorageClass = ({ metadata, spec }: Classed): string | undefined =>
  metadata.annotations?.[storageClassAnnotation] ?? spec?.storageClassName
