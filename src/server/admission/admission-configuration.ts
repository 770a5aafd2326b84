/** The file of --admission-control-config-file: what it says to which plugin (apiserver, pkg/admission/config.go). */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { goFileError } from '#go/file-error.js'
import { stringify } from '#json/json.js'
import { isJsonObject } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import { decodeConfiguration, UnknownTypeError } from '#registry/decode-configuration.js'
import { parseYaml } from '#registry/yaml/yaml.js'

/** The configuration of a plugin as text; undefined if there is none. */
export type ConfigurationOf = (plugin: string) => string | undefined

interface PluginConfiguration {
  readonly name: string
  readonly path?: string
  readonly configuration?: JsonValue
}

interface Configuration {
  readonly plugins: readonly PluginConfiguration[] | null
}

/** Other kinds of the same version: they are known, but do not configure admission. */
const otherKinds = [
  'AuthenticationConfiguration',
  'AuthorizationConfiguration',
  'EncryptionConfiguration',
  'TracingConfiguration',
]
const type = 'config.v1.AdmissionConfiguration'
const types = {
  'apiserver.config.k8s.io/v1 AdmissionConfiguration': type,
  'apiserver.k8s.io/v1alpha1 AdmissionConfiguration': type,
}

const refuseOtherKind = (text: string): void => {
  const { value } = parseYaml(text)
  if (!isJsonObject(value) || value.apiVersion !== 'apiserver.config.k8s.io/v1') return
  if (otherKinds.includes(String(value.kind)))
    throw new Error(`unexpected type: *apiserver.${value.kind}`)
}

/** Keys of the files that each configured one plugin, before there was an AdmissionConfiguration. */
const formerKeys = ['imagePolicy', 'podNodeSelectorPluginConfig']
const ofFormerFiles = ['ImagePolicyWebhook', 'PodNodeSelector']

const isFormer = (text: string): boolean => {
  const { value } = parseYaml(text)
  return isJsonObject(value) && formerKeys.some((key) => Object.hasOwn(value, key))
}

const pluginsOf = (text: string, file: string): readonly PluginConfiguration[] => {
  try {
    const { value } = decodeConfiguration<Configuration>(text, types)
    return value.plugins ?? []
  } catch (error) {
    if (!(error instanceof UnknownTypeError)) throw error
    if (isFormer(text)) return ofFormerFiles.map((name) => ({ name, path: path.resolve(file) }))
    refuseOtherKind(text)
    throw error
  }
}

const read = (file: string, problem: (why: string) => string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(problem(goFileError('open', file, error)))
  }
}

const textOf = (file: string): string =>
  read(file, (why) => `unable to read admission control configuration from "${file}" [${why}]`)

const textAt = (file: string): string =>
  read(file, (why) => `Couldn't open admission plugin configuration ${file}: ${why}`)

/** Throws an Error that says what is wrong with it. Paths in it are relative to it. */
export const readAdmissionConfiguration = (file: string): ConfigurationOf => {
  let plugins: readonly PluginConfiguration[]
  try {
    plugins = pluginsOf(textOf(file), file)
  } catch (error) {
    throw new Error(`failed to read plugin config: ${(error as Error).message}`)
  }
  return (plugin) => {
    // Of several the first counts.
    const found = plugins.find(({ name }) => name === plugin)
    if (found?.configuration !== undefined && found.configuration !== null)
      return stringify(found.configuration)
    return found?.path ? textAt(path.resolve(path.dirname(file), found.path)) : undefined
  }
}
