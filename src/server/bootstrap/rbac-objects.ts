/**
 * What a start makes of the roles and bindings that every cluster has when somebody has changed them, or a former release
 * has made them (component-helpers, auth/rbac/reconciliation): rules, subjects, labels and annotations that are missing
 * are added, what is more than these stays. The annotation that says no leaves one as it is.
 */
import type { KubeObject } from '#api/object.js'
import { type PolicyRule, type Subject, uncoveredRules } from '#authz/rbac-rules.js'
import { jsonEqual } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'

const annotation = 'rbac.authorization.kubernetes.io/autoupdate'

export const isProtected = ({ metadata }: KubeObject): boolean =>
  metadata.annotations?.[annotation] === 'false'

/** The role of a binding cannot be changed: such a binding is made anew. */
export const hasOtherRole = (stored: KubeObject, made: JsonObject): boolean =>
  !jsonEqual(stored.roleRef, made.roleRef)

const listOf = <T>(value: unknown): readonly T[] => (value ?? []) as readonly T[]

const without = (wanted: readonly JsonValue[], there: readonly JsonValue[]): JsonValue[] =>
  wanted.filter((one) => !there.some((other) => jsonEqual(one, other)))

/** The field of the object with what it misses; nothing if it misses nothing. */
const withMissing = (field: string, had: unknown, missing: readonly unknown[]): object =>
  missing.length === 0 ? {} : { [field]: [...listOf(had), ...missing] }

/** Of a role that should not be aggregated the aggregation is taken away. */
const withAggregation = (stored: KubeObject, made: JsonObject): object => {
  const wanted = made.aggregationRule as JsonObject | undefined
  if (wanted === undefined) return stored.aggregationRule ? { aggregationRule: undefined } : {}
  const field = 'clusterRoleSelectors'
  const had: JsonObject = stored.aggregationRule ?? {}
  const missing = without(listOf(wanted[field]), listOf(had[field]))
  return { aggregationRule: { ...had, ...withMissing(field, had[field], missing) } }
}

/** The stored role or binding with all that it is made with; undefined if nothing is missing. */
export const completed = (stored: KubeObject, made: JsonObject): KubeObject | undefined => {
  const { labels, annotations } = made.metadata as KubeObject['metadata']
  const { metadata } = stored
  const rules = uncoveredRules(listOf<PolicyRule>(stored.rules), listOf<PolicyRule>(made.rules))
  const subjects = without(listOf(made.subjects), listOf<Subject & JsonObject>(stored.subjects))
  const complete = {
    ...stored,
    metadata: {
      ...metadata,
      labels: { ...labels, ...metadata.labels },
      annotations: { ...annotations, ...metadata.annotations },
    },
    ...withMissing('rules', stored.rules, rules),
    ...withMissing('subjects', stored.subjects, subjects),
    ...withAggregation(stored, made),
  }
  return jsonEqual(complete, stored) ? undefined : (complete as KubeObject)
}
