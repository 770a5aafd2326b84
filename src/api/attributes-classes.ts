import type { KubeObject } from './object.js'

/** VolumeAttributesClasses that a claim or a volume names. While a claim changes its class it has both. */
export const attributesClassesOf = ({ spec, status }: KubeObject): string[] => {
  const names: (string | undefined)[] = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ]
  return [...new Set(names.filter((name): name is string => Boolean(name)))]
}
