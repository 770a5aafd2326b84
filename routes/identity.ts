/** The name and namespace in an object against those of the URL it was sent to. */
import { badRequest } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { matchNamespace } from '#registry/object-meta.js'
import type { Target } from './api-deps.js'

/** Throws 400 unless it is the name of the URL. */
export const checkName = (given: string, name: string): void => {
  if (given === '')
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    )
  if (given !== name)
    throw badRequest(
      `the name of the object (${given}) does not match the name on the URL (${name})`,
    )
}

/** Puts the request's namespace into `object`, which is private. Throws 400. */
export const checkIdentity = (
  object: KubeObject,
  { definition, namespace, name }: Target,
): void => {
  matchNamespace(object.metadata, definition, namespace)
  checkName(object.metadata.name ?? '', name)
}
