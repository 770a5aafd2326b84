/**
 * The versions of a custom resource, as its field manager needs them. All that its definition has count, served or not.
 * What was converted is not pruned: it fits the schema of its version, or nothing can be said of its owners
 * (apimachinery, managedfields/internal/versionconverter.go; apiextensions, conversion/converter.go).
 */
import { ApiError } from '#api/errors.js'
import { formatGroupVersion, parseGroupVersion } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { goQuote } from '#go/quote.js'
import type { ResourceDefinition } from '../resource-definition.js'
import type { ConvertNow } from './awaited-conversions.js'
import { emptySet } from './field-set.js'
import { resetFieldsOfCustom } from './reset-fields.js'
import { CannotConvert, type Versions } from './updater.js'
import { mismatchOf } from './validate-typed.js'
import { typeOfSchema } from './versions.js'

/** What a definition without a webhook does. */
const rename: ConvertNow = (object, apiVersion) => ({ ...object, apiVersion })

/** `convert` is given if a webhook converts. */
export const versionsOfCustom = (
  { gvk, versions }: ResourceDefinition,
  subresource: string,
  convert: ConvertNow = rename,
): Versions => {
  const own = formatGroupVersion(gvk)
  const find = (apiVersion: string) => {
    const parsed = parseGroupVersion(apiVersion)
    return parsed?.group === gvk.group ? versions?.get(parsed.version) : undefined
  }
  const converted = (object: KubeObject, apiVersion: string): KubeObject => {
    if (object.apiVersion === apiVersion) return object
    const [from, to] = [parseGroupVersion(object.apiVersion ?? ''), parseGroupVersion(apiVersion)]
    if (from?.group !== to?.group)
      throw new CannotConvert(
        `${from?.group ?? ''}/${from?.version ?? ''}, Kind=${object.kind ?? ''} is unstructured and is not suitable for converting to ${goQuote(apiVersion)}`,
      )
    if (find(apiVersion) === undefined)
      throw new CannotConvert(`request to convert CR to an invalid group/version: ${apiVersion}`)
    try {
      return convert(object, apiVersion)
    } catch (error) {
      throw error instanceof ApiError ? new CannotConvert(error.message) : error
    }
  }
  const reset = resetFieldsOfCustom(subresource)
  return {
    typeOf: (apiVersion) => {
      const found = find(apiVersion)
      return found && typeOfSchema(found.structuralSchema)
    },
    convert: (object, apiVersion) => {
      if (parseGroupVersion(apiVersion) === undefined)
        throw new CannotConvert(`unexpected GroupVersion string: ${apiVersion}`)
      // By way of the version of the request, which is what upstream has in memory.
      const result = converted(converted(object as KubeObject, own), apiVersion)
      const type = typeOfSchema(find(apiVersion)!.structuralSchema)
      const mismatch = mismatchOf(result, type, { allowDuplicates: false })
      if (mismatch !== undefined) throw new CannotConvert(mismatch)
      return result
    },
    resetFields: (apiVersion) => {
      const hasReset = subresource === 'status' || apiVersion === own
      return hasReset && find(apiVersion)?.hasStatus === true ? reset : emptySet
    },
  }
}
