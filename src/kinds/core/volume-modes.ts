/** What volumes and claims share: access modes and volume modes. */
import { type FieldError, forbidden, notSupported } from '#api/field-error.js'

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']
const volumeModes = ['Block', 'Filesystem']

export const validAccessModes = (path: string, modes: readonly string[]): FieldError[] => {
  const unknown = modes
    .filter((mode) => !accessModes.includes(mode))
    .map((mode) => notSupported(path, mode, accessModes))
  const known = modes.filter((mode) => accessModes.includes(mode))
  const mixed = known.includes('ReadWriteOncePod') && new Set(known).size > 1
  return mixed
    ? [...unknown, forbidden(path, 'may not use ReadWriteOncePod with other access modes')]
    : unknown
}

export const validVolumeMode = (path: string, mode: string | undefined): FieldError[] =>
  mode === undefined || volumeModes.includes(mode) ? [] : [notSupported(path, mode, volumeModes)]
