/** How the objects of one version of a custom resource are stored in another. */
import { failure } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { cloneJson } from '#json/object.js'
import type { StoredConversion } from '#registry/resource-definition.js'
import { conformConverted } from './conform.js'
import type { Converter } from './convert-by-webhook.js'
import { type DefinitionVersion, schemaOf } from './definition/definition.js'

/** Strategy None: an object is read in another version under that apiVersion. */
export const rename: Converter = async (object, apiVersion) =>
  object.apiVersion === apiVersion ? object : { ...cloneJson(object), apiVersion }

/**
 * Converted objects are pruned and defaulted by the schema of their version. An object that is stored in a version
 * which the definition no longer has is refused (apiextensions, conversion/converter.go).
 */
export const conversionOf = (
  convert: Converter,
  apiVersion: string,
  versions: readonly DefinitionVersion[],
): StoredConversion => {
  const group = apiVersion.slice(0, apiVersion.indexOf('/'))
  const storedAs = `${group}/${versions.find((v) => v.storage)!.name}`
  const known = new Set(versions.map(({ name }) => `${group}/${name}`))
  const to = async (object: KubeObject, wanted: string): Promise<KubeObject> => {
    if (!known.has(object.apiVersion)) {
      const message = `request to convert CR from an invalid group/version: ${object.apiVersion}`
      throw failure({ code: 500, message })
    }
    const converted = await convert(object, wanted)
    if (converted === object) return object
    const version = versions.find(({ name }) => `${group}/${name}` === wanted)!
    conformConverted(converted, schemaOf(version))
    return converted
  }
  return {
    isNominal: convert === rename,
    convert,
    toStorage: (object) => to(object, storedAs),
    fromStorage: (object) => to(object, apiVersion),
  }
}
