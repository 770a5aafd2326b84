/** The names of other objects in a Pod's spec (kubernetes, pkg/api/pod: VisitPodSecretNames, VisitPodConfigmapNames). */

import { containerLists } from './container-lists.js'
import type { Fields } from './object.js'

type Names = (source: Fields) => readonly (string | undefined)[]

const named = (names: readonly (string | undefined)[]): string[] =>
  names.filter((name) => name !== undefined && name !== '') as string[]

const ofSecretRef: Names = ({ secretRef }) => [secretRef?.name]

const volumeSecrets: Readonly<Record<string, Names>> = {
  azureFile: ({ secretName }) => [secretName],
  cephfs: ofSecretRef,
  cinder: ofSecretRef,
  csi: ({ nodePublishSecretRef }) => [nodePublishSecretRef?.name],
  flexVolume: ofSecretRef,
  iscsi: ofSecretRef,
  projected: ({ sources }) => (sources ?? []).map(({ secret }: Fields) => secret?.name),
  rbd: ofSecretRef,
  scaleIO: ofSecretRef,
  secret: ({ secretName }) => [secretName],
  storageos: ofSecretRef,
}

const volumeConfigMaps: Readonly<Record<string, Names>> = {
  configMap: ({ name }) => [name],
  projected: ({ sources }) => (sources ?? []).map(({ configMap }: Fields) => configMap?.name),
}

const inVolumes = (spec: Fields, table: Readonly<Record<string, Names>>) =>
  (spec.volumes ?? []).flatMap((volume: Fields) =>
    Object.entries(table).flatMap(([source, names]) =>
      volume[source] === undefined ? [] : names(volume[source]),
    ),
  )

const inContainers = (spec: Fields, envFrom: string, env: string) =>
  containerLists
    .flatMap((list): Fields[] => spec[list] ?? [])
    .flatMap((container): (string | undefined)[] => [
      ...(container.envFrom ?? []).map((source: Fields) => source[envFrom]?.name),
      ...(container.env ?? []).map(({ valueFrom }: Fields) => valueFrom?.[env]?.name),
    ])

export const secretNames = (spec: Fields): string[] =>
  named([
    ...(spec.imagePullSecrets ?? []).map(({ name }: Fields) => name),
    ...inContainers(spec, 'secretRef', 'secretKeyRef'),
    ...inVolumes(spec, volumeSecrets),
  ])

export const configMapNames = (spec: Fields): string[] =>
  named([
    ...inContainers(spec, 'configMapRef', 'configMapKeyRef'),
    ...inVolumes(spec, volumeConfigMaps),
  ])

/** A claim that a Pod describes in a volume of its own is named after both (component-helpers, storage/ephemeral). */
export const volumeClaimName = (pod: string, volume: Fields): string | undefined => {
  if (volume.persistentVolumeClaim !== undefined) return volume.persistentVolumeClaim.claimName
  return volume.ephemeral === undefined ? undefined : `${pod}-${volume.name}`
}
