/** The scale subresource of a custom resource: autoscaling/v1 Scale over three JSON paths of the definition. */

import { internalError } from '#api/errors.js'
import { invalid } from '#api/field-error.js'
import { isJsonObject } from '#api/json-object.js'
import type { JsonObject, JsonValue, KubeObject } from '#api/object.js'
import type { Subresource } from '#registry/resource-definition.js'
import type { DefinitionVersion } from './definition.js'

type ScalePaths = NonNullable<NonNullable<DefinitionVersion['subresources']>['scale']>

const namesIn = (path: string): string[] => path.split('.').slice(1)

const valueAt = (object: JsonValue, path: string): JsonValue | undefined => {
  let at: JsonValue | undefined = object
  for (const name of namesIn(path))
    at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  return at
}

const setAt = (object: JsonObject, path: string, value: JsonValue): void => {
  const names = namesIn(path)
  let at = object
  for (const name of names.slice(0, -1)) {
    if (!isJsonObject(at[name])) at[name] = {}
    at = at[name] as JsonObject
  }
  at[names.at(-1)!] = value
}

const numberAt = (object: KubeObject, path: string): number | undefined => {
  const value = valueAt(object, path)
  return typeof value === 'number' ? value : undefined
}

export const scaleSubresource = (paths: ScalePaths): Subresource => {
  const specPath = paths.specReplicasPath!
  const toScale = (parent: KubeObject): KubeObject => {
    const replicas = numberAt(parent, specPath) ?? 0
    const { name, namespace, uid, resourceVersion, creationTimestamp } = parent.metadata
    const selector = paths.labelSelectorPath && valueAt(parent, paths.labelSelectorPath)
    return {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
      spec: replicas === 0 ? {} : { replicas },
      status: {
        replicas: numberAt(parent, paths.statusReplicasPath!) ?? 0,
        ...(typeof selector === 'string' && selector !== '' ? { selector } : {}),
      },
    }
  }
  return {
    name: 'scale',
    kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
    verbs: ['get', 'patch', 'update'],
    style: 'view',
    replicasPath: namesIn(specPath),
    read: toScale,
    refuseRead: (parent) =>
      numberAt(parent, specPath) === undefined
        ? internalError(`the spec replicas field ${JSON.stringify(specPath)} does not exist`)
        : undefined,
    write: (parent, next) => {
      const replicas = (next.spec as { replicas?: number } | undefined)?.replicas ?? 0
      setAt(parent, specPath, replicas)
      return parent
    },
    validateUpdate: (next) => {
      const replicas = numberAt(next, specPath) ?? 0
      return replicas < 0 ? [invalid(specPath, replicas, 'should be a non-negative integer')] : []
    },
  }
}
