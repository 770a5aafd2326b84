/**
 * The storage layer's check of a client's preconditions, which update and delete repeat at each try (apiserver,
 * storage/interfaces.go, Preconditions.Check). What a delete checks before is in before-delete.ts.
 */
import { conflict } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import type { DeleteOptions, ResourceDefinition } from './resource-definition.js'

/** Throws 409. `key` is the object's in storage; `current` is undefined where there is none. */
export const checkPreconditions = (
  { uid, resourceVersion }: NonNullable<DeleteOptions['preconditions']> = {},
  current: KubeObject | undefined,
  { definition, name, key }: { definition: ResourceDefinition; name: string; key: string },
): void => {
  const meta = current?.metadata
  const check = (field: string, given: string | undefined, has = ''): void => {
    if (given === undefined || given === has) return
    throw conflict(
      definition.gvr,
      name,
      `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${field} in precondition: ${given}, ${field} in object meta: ${has}`,
    )
  }
  check('UID', uid, meta?.uid)
  check('ResourceVersion', resourceVersion, meta?.resourceVersion)
}
