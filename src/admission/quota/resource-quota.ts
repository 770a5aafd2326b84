/**
 * Charges creates and growth to the quotas of the namespace, in their status (apiserver,
 * pkg/admission/plugin/resourcequota). Here usage only grows; the quota controller lowers it.
 */
import { ApiError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import {
  addQuantities,
  compareQuantityTexts,
  parseQuantity,
  subtractQuantities,
} from '#api/quantity.js'
import type { Usage } from '#api/quota/pod-usage.js'
import { isInScope } from '#api/quota/scopes.js'
import { measureOf } from '#api/quota/usage.js'
import { whenKnown } from '#async/when-known.js'
import { limits } from '#limits'
import type { WriteAttributes } from '#registry/admission.js'
import { internalContext } from '#registry/internal-context.js'
import { type AdmissionPlugin, isAboutNamespace, isWrite, listObjects, refuse } from '../plugin.js'
import { checkLimited, type LimitedResource } from './limited-resources.js'
import { QuotaCharges } from './quota-charges.js'
import { mayChangeUsage, unspecified } from './quota-usage.js'
import { relatedObjects } from './related-objects.js'

const quotas = { group: '', resource: 'resourcequotas' }

const print = (usage: Usage): string =>
  Object.keys(usage)
    .sort()
    .map((name) => `${name}=${usage[name]}`)
    .join(',')

const pick = (usage: Usage | undefined, names: readonly string[]): Usage =>
  Object.fromEntries(names.map((name) => [name, usage?.[name] ?? '0']))

/** What an update adds; a decrease is left to the quota controller. */
const growth = (usage: Usage, before: Usage): Usage =>
  Object.fromEntries(
    Object.entries(usage).flatMap(([name, text]) => {
      const more = subtractQuantities(parseQuantity(text), parseQuantity(before[name] ?? '0'))
      return more.nano > 0n ? [[name, more.text]] : []
    }),
  )

/** A Pod must specify the resources that a quota limits, and the quota's status must have their usage. */
const checkQuota = (
  attributes: WriteAttributes,
  quota: KubeObject,
  measured: readonly string[],
): void => {
  const { resource, object } = attributes
  const isPod = resource.group === '' && resource.resource === 'pods'
  const missing = isPod ? unspecified(object, measured) : {}
  const texts = Object.keys(missing)
    .sort()
    .map((name) => `${name} for: ${missing[name]!.join(',')}`)
  if (texts.length > 0)
    throw refuse(
      attributes,
      `failed quota: ${quota.metadata.name}: must specify ${texts.join('; ')}`,
    )
  if (measured.some((name) => quota.status?.used?.[name] === undefined))
    throw refuse(
      attributes,
      `status unknown for quota: ${quota.metadata.name}, resources: ${[...measured].sort().join(',')}`,
    )
}

/** The quota's new usage; undefined when nothing of the delta is bounded here. Throws when it does not fit. */
const count = (attributes: WriteAttributes, quota: KubeObject, delta: Usage): Usage | undefined => {
  const hard: Usage = quota.status?.hard ?? {}
  const used: Usage = quota.status?.used ?? {}
  const names = Object.keys(delta).filter((name) => hard[name] !== undefined)
  if (names.length === 0) return undefined
  const next = Object.fromEntries(
    names.map((name) => [
      name,
      addQuantities(parseQuantity(used[name] ?? '0'), parseQuantity(delta[name]!)).text,
    ]),
  )
  const exceeded = names.filter((name) => compareQuantityTexts(next[name]!, hard[name]!) > 0)
  // A status reports what has already happened, so it is not refused.
  if (exceeded.length > 0 && attributes.subresource !== 'status')
    throw refuse(
      attributes,
      `exceeded quota: ${quota.metadata.name}, requested: ${print(pick(delta, exceeded))}, used: ${print(pick(used, exceeded))}, limited: ${print(pick(hard, exceeded))}`,
    )
  return { ...used, ...next }
}

/** After a conflict it counts again on the stored quota. */
const charge = (
  attributes: WriteAttributes,
  { metadata }: KubeObject,
  { delta, charges }: { delta: Usage; charges: QuotaCharges },
): Promise<void> => {
  const { ctx, namespace } = attributes
  const store = ctx.stores(quotas)!
  const name = metadata.name!
  // Others wait for this write, so it must not end with its request.
  const own = internalContext({ ...ctx, caller: new AbortController() }, namespace)
  const countIn = (quota: KubeObject): void => {
    const used = count(attributes, quota, delta)
    if (used !== undefined) quota.status = { ...quota.status, used }
  }
  return charges.add(store.key(namespace, name), countIn, async (change) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await store.update({ ...own, subresource: 'status' }, name, (stored) =>
          change(stored!),
        )
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        // The quota was deleted meanwhile.
        if (error.reason === 'NotFound') return
        if (error.reason !== 'Conflict' || attempt === limits.quotaTriesMax) throw error
      }
    }
  })
}

interface Charging {
  readonly charges: QuotaCharges
  readonly limited: readonly LimitedResource[]
}

const chargeAll = async (
  attributes: WriteAttributes,
  all: readonly KubeObject[],
  { charges, limited }: Charging,
): Promise<void> => {
  const { resource, object, oldObject, ctx } = attributes
  const { measures, usage: usageOf } = measureOf(resource, await relatedObjects(attributes))
  const bounded = new Set<string>()
  const matching = all.filter((quota) => {
    if (!isInScope(resource, object, quota)) return false
    const measured = Object.keys(quota.status?.hard ?? {}).filter(measures)
    if (measured.length > 0) checkQuota(attributes, quota, measured)
    for (const name of measured) bounded.add(name)
    return measured.length > 0
  })
  if (matching.length === 0 && limited.length === 0) return
  const usage = growth(usageOf(object, ctx.now), {})
  const grown = oldObject === undefined ? usage : growth(usage, usageOf(oldObject, ctx.now))
  const deltas = matching.map((quota) => {
    const wasInScope = oldObject !== undefined && isInScope(resource, oldObject, quota)
    return { quota, delta: wasInScope ? grown : usage }
  })
  const isUsing = (delta: Usage): boolean => Object.keys(delta).length > 0
  if (matching.length === 0 ? isUsing(grown) : deltas.some(({ delta }) => isUsing(delta)))
    checkLimited(attributes, limited, { usage, bounded, quotas: all })
  const due = deltas.filter(({ quota, delta }) => count(attributes, quota, delta) !== undefined)
  if (ctx.dryRun) return
  for (const { quota, delta } of due) await charge(attributes, quota, { delta, charges })
}

export const resourceQuota = (limited: readonly LimitedResource[] = []): AdmissionPlugin => {
  const charges = new QuotaCharges()
  return {
    name: 'ResourceQuota',
    validate: (attributes) => {
      if (attributes.namespace === '' || isAboutNamespace(attributes)) return
      if (!isWrite(attributes)) return
      if (!mayChangeUsage(attributes)) return
      return whenKnown(listObjects(attributes.ctx, quotas, attributes.namespace), (all) =>
        all.length === 0 && limited.length === 0
          ? undefined
          : chargeAll(attributes, all, { charges, limited }),
      )
    },
  }
}
