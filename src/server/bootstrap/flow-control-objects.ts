/**
 * What becomes of flow schemas and priority levels that every cluster has when somebody has changed them (kubernetes,
 * registry/flowcontrol/ensurer): a spec that is kept up to date is put back, and an annotation says whether it is. What
 * is annotated so and is none of them is deleted.
 */
import type { KubeObject } from '#api/object.js'
import { parseGoBoolean } from '#go/boolean.js'
import { jsonEqual } from '#json/object.js'
import type { JsonObject } from '#json/value.js'

const annotation = 'apf.kubernetes.io/autoupdate-spec'
const mandatory: readonly (string | undefined)[] = ['exempt', 'catch-all']

/** Undefined where the annotation says neither. */
const saysAutomatic = ({ metadata }: KubeObject): boolean | undefined =>
  parseGoBoolean(metadata.annotations?.[annotation] ?? '')

/** Nobody has changed it yet, or it is said to be kept up to date. */
const isAutomatic = (stored: KubeObject): boolean =>
  mandatory.includes(stored.metadata.name) ||
  (saysAutomatic(stored) ?? stored.metadata.generation === 1)

/** A former release made it, or somebody who wanted it kept up to date: no server makes it any more. */
export const isStale = (stored: KubeObject, made: readonly JsonObject[]): boolean =>
  saysAutomatic(stored) === true &&
  !made.some(({ metadata }) => (metadata as JsonObject).name === stored.metadata.name)

/** The shares of the level `exempt` are the operator's. */
const wantedSpec = ({ metadata, spec }: KubeObject, made: JsonObject): JsonObject => {
  const wanted = made.spec as JsonObject
  if (metadata.name !== 'exempt' || !spec.exempt || wanted.exempt === undefined) return wanted
  const { nominalConcurrencyShares, lendablePercent } = spec.exempt
  const kept = { nominalConcurrencyShares, lendablePercent }
  return { ...wanted, exempt: { ...(wanted.exempt as JsonObject), ...kept } }
}

/** The stored object as it should be; undefined if it is. `made` is how it is made. */
export const revised = (stored: KubeObject, made: JsonObject): KubeObject | undefined => {
  const automatic = isAutomatic(stored)
  const spec = automatic ? wantedSpec(stored, made) : stored.spec
  if (saysAutomatic(stored) === automatic && jsonEqual(spec, stored.spec)) return undefined
  const annotations = { ...stored.metadata.annotations, [annotation]: String(automatic) }
  return { ...stored, metadata: { ...stored.metadata, annotations }, spec }
}
