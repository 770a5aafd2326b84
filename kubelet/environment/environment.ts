/** The environment of a container: envFrom, env, references and $(NAME) expansion, in upstream's order. */
import path from 'node:path'
import { getOwn } from '#json/object.js'
import { limits } from '#limits'
import { fieldValue, type PodFacts, resourceValue } from '../downward.js'
import { expand, tooLong } from '../expand.js'
import type { DataObject, ObjectReader } from '../object-reader.js'
import { type ContainerSpec, type EnvVar, type FileKeyRef, findContainer } from '../pod.js'
import { configError } from '../runtime.js'
import { readBelow } from '../volumes/sub-path.js'
import type { Volumes } from '../volumes/volumes.js'
import { readVariable } from './env-file.js'

interface EnvironmentSources {
  readonly reader: ObjectReader
  readonly volumes: Volumes
}

const decode = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8')

interface KeyRef {
  name?: string
  key: string
  optional?: boolean
}

/** The stored value; undefined if it is missing and optional. */
const valueOfKey = (
  kind: 'ConfigMap' | 'Secret',
  source: DataObject | undefined,
  namespace: string,
  { name, key, optional }: KeyRef,
): string | undefined => {
  const value = getOwn(source?.data, key)
  if (value !== undefined || optional) return value
  if (!source) throw configError(`${kind.toLowerCase()} "${name}" not found`)
  throw configError(`couldn't find key ${key} in ${kind} ${namespace}/${name}`)
}

const referenced = async (
  facts: PodFacts,
  container: ContainerSpec,
  { reader, volumes }: EnvironmentSources,
  { valueFrom }: EnvVar,
): Promise<string | undefined> => {
  const { namespace } = facts.pod.metadata
  if (valueFrom?.fieldRef) return fieldValue(facts, valueFrom.fieldRef.fieldPath)
  if (valueFrom?.resourceFieldRef) {
    const { containerName } = valueFrom.resourceFieldRef
    const of = containerName ? findContainer(facts.pod, containerName) : container
    return resourceValue(facts, of ?? container, valueFrom.resourceFieldRef)
  }
  const { configMapKeyRef, secretKeyRef, fileKeyRef } = valueFrom ?? {}
  if (configMapKeyRef) {
    const map = await reader.configMap(namespace, configMapKeyRef.name ?? '')
    return valueOfKey('ConfigMap', map, namespace, configMapKeyRef)
  }
  if (secretKeyRef) {
    const secret = await reader.secret(namespace, secretKeyRef.name ?? '')
    const value = valueOfKey('Secret', secret, namespace, secretKeyRef)
    return value === undefined ? undefined : decode(value)
  }
  if (fileKeyRef) return valueInFile(facts, fileKeyRef, volumes)
  return undefined
}

/** From a file in a volume that an earlier container has written. */
const valueInFile = async (
  facts: PodFacts,
  { volumeName, path: file, key, optional }: FileKeyRef,
  volumes: Volumes,
): Promise<string | undefined> => {
  const folder = volumes.folderOf(facts, volumeName)
  if (folder === undefined)
    throw configError(`cannot find the volume "${volumeName}" referenced by FileKeyRef`)
  const value = await readBelow(folder, file, limits.envFileBytesMax)
    .then((text) => readVariable(text, key))
    .catch(() => {
      throw configError("couldn't parse env file")
    })
  if (value !== '') return value
  if (optional) return undefined
  throw configError(
    `environment variable key "${key}" not found in file "${path.join(folder, file)}"`,
  )
}

/** Variables of one container. Throws when they become too many: a few bytes may name a long value of an object. */
class Variables extends Map<string, string> {
  #left: number = limits.argumentsLengthMax

  override set(name: string, value: string): this {
    this.#left -= name.length + value.length
    if (this.#left < 0) throw tooLong()
    return super.set(name, value)
  }
}

const addEnvFrom = async (
  values: Variables,
  namespace: string,
  container: ContainerSpec,
  reader: ObjectReader,
): Promise<void> => {
  for (const { prefix = '', configMapRef, secretRef } of container.envFrom ?? []) {
    const name = configMapRef?.name ?? secretRef?.name ?? ''
    const source = configMapRef
      ? await reader.configMap(namespace, name)
      : await reader.secret(namespace, name)
    if (!source) {
      if ((configMapRef ?? secretRef)?.optional) continue
      throw configError(`${configMapRef ? 'configmap' : 'secret'} "${name}" not found`)
    }
    for (const [key, value] of Object.entries(source.data ?? {})) {
      values.set(prefix + key, secretRef ? decode(value) : value)
    }
  }
}

/** Throws StartError with CreateContainerConfigError for a reference that cannot be resolved. */
export const makeEnvironment = async (
  facts: PodFacts,
  container: ContainerSpec,
  sources: EnvironmentSources,
): Promise<Map<string, string>> => {
  const { pod } = facts
  const values = new Variables()
  for (const [name, value] of sources.reader.serviceVariables(pod)) values.set(name, value)
  await addEnvFrom(values, pod.metadata.namespace, container, sources.reader)
  for (const variable of container.env ?? []) {
    const value = variable.valueFrom
      ? await referenced(facts, container, sources, variable)
      : expand(variable.value ?? '', values)
    if (value !== undefined) values.set(variable.name, value)
  }
  return values
}
