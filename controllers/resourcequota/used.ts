/** What is written of a ResourceQuota's use. Pure. */
import type { NamespacedObject } from '#api/object.js'
import { type Amounts, addAmounts } from '#api/pod-resources.js'
import type { Usage } from '#api/quota/pod-usage.js'

export interface ResourceQuota extends NamespacedObject {
  spec: {
    hard?: Record<string, string>
    scopes?: string[]
    scopeSelector?: {
      matchExpressions?: { scopeName: string; operator: string; values?: string[] }[]
    }
  }
  status: { hard?: Record<string, string>; used?: Record<string, string> }
}

export const hasScopes = ({ spec }: ResourceQuota): boolean =>
  (spec.scopes ?? []).length + (spec.scopeSelector?.matchExpressions ?? []).length > 0

/** Zero for everything that is measured. */
export const noneOf = (names: readonly string[]): Usage =>
  Object.fromEntries(names.map((name) => [name, '0']))

/** Only what the quota limits. For what nothing here measures, the former value stays. */
export const usedOf = ({ spec, status }: ResourceQuota, usages: readonly Usage[]): Usage => {
  const total: Amounts = new Map()
  for (const usage of usages) addAmounts(total, usage)
  return Object.fromEntries(
    Object.keys(spec.hard ?? {}).flatMap((name) => {
      const text = total.get(name)?.text ?? status?.used?.[name]
      return text === undefined ? [] : [[name, text]]
    }),
  )
}
