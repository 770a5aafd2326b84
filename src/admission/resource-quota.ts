/**
 * Counts what is made against the quotas of the namespace, by the usage in their status (apiserver, pkg/admission/plugin/
 * resourcequota). Usage grows here; it is the quota controller that lets it shrink.
 */
import { ApiError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import {
  addQuantities,
  compareQuantities,
  parseQuantity,
  subtractQuantities,
} from '#api/quantity.js'
import { limits } from '#limits'
import type { AdmissionAttributes } from '#registry/admission.js'
import { internalContext } from '#registry/internal-context.js'
import { type AdmissionPlugin, isAboutNamespace, listObjects, refuse, whenKnown } from './plugin.js'
import { isInScope, type Usage, unspecified, usageOf } from './quota-usage.js'

const quotas = { group: '', resource: 'resourcequotas' }

const print = (usage: Usage): string =>
  Object.keys(usage)
    .sort()
    .map((name) => `${name}=${usage[name]}`)
    .join(',')

const pick = (usage: Usage | undefined, names: readonly string[]): Usage =>
  Object.fromEntries(names.map((name) => [name, usage?.[name] ?? '0']))

const isPositive = (text: string): boolean => parseQuantity(text).nano > 0n

/** What an update adds to what was there before. */
const growth = (usage: Usage, before: Usage | undefined): Usage => {
  if (before === undefined) return usage
  return Object.fromEntries(
    Object.entries(usage).map(([name, text]) => [
      name,
      subtractQuantities(parseQuantity(text), parseQuantity(before[name] ?? '0')).text,
    ]),
  )
}

const checkSpecified = (attributes: AdmissionAttributes, quota: KubeObject): void => {
  const { resource, object, operation } = attributes
  if (resource.group !== '' || resource.resource !== 'pods' || operation !== 'CREATE') return
  const missing = unspecified(object!, Object.keys(quota.status?.hard ?? {}))
  const texts = Object.keys(missing)
    .sort()
    .map((name) => `${name} for: ${missing[name]!.join(',')}`)
  if (texts.length > 0)
    throw refuse(
      attributes,
      `failed quota: ${quota.metadata.name}: must specify ${texts.join('; ')}`,
    )
}

/** The quota with the delta counted; undefined when nothing of it is bounded here. Throws when it does not fit. */
const count = (
  attributes: AdmissionAttributes,
  quota: KubeObject,
  delta: Usage,
): Usage | undefined => {
  const hard: Usage = quota.status?.hard ?? {}
  const used: Usage = quota.status?.used ?? {}
  const names = Object.keys(delta).filter((name) => hard[name] !== undefined)
  if (names.length === 0) return undefined
  const unknown = names.filter((name) => used[name] === undefined)
  if (unknown.length > 0)
    throw refuse(
      attributes,
      `status unknown for quota: ${quota.metadata.name}, resources: ${unknown.sort().join(',')}`,
    )
  const next = Object.fromEntries(
    names.map((name) => [
      name,
      addQuantities(parseQuantity(used[name]!), parseQuantity(delta[name]!)).text,
    ]),
  )
  const exceeded = names.filter(
    (name) =>
      isPositive(delta[name]!) &&
      compareQuantities(parseQuantity(next[name]!), parseQuantity(hard[name]!)) > 0,
  )
  if (exceeded.length > 0)
    throw refuse(
      attributes,
      `exceeded quota: ${quota.metadata.name}, requested: ${print(pick(delta, exceeded))}, used: ${print(pick(used, exceeded))}, limited: ${print(pick(hard, exceeded))}`,
    )
  const isChanged = names.some((name) => parseQuantity(delta[name]!).nano !== 0n)
  return isChanged ? { ...used, ...next } : undefined
}

const charge = async (
  attributes: AdmissionAttributes,
  quota: KubeObject,
  delta: Usage,
): Promise<void> => {
  const { ctx, namespace } = attributes
  const store = ctx.stores(quotas)!
  const own = { ...internalContext(ctx, namespace), subresource: 'status' }
  for (let attempt = 1; ; attempt++) {
    try {
      await store.update(own, quota.metadata.name!, (current) => {
        // Counted anew on what is stored by now: another request may have been faster.
        const used = count(attributes, current!, delta)
        const next = structuredClone(current!)
        if (used !== undefined) next.status = { ...next.status, used }
        return next
      })
      return
    } catch (error) {
      const isConflict = error instanceof ApiError && error.reason === 'Conflict'
      if (!isConflict || attempt === limits.quotaTriesMax) throw error
    }
  }
}

const isCounted = (attributes: AdmissionAttributes) =>
  (attributes.operation === 'CREATE' || attributes.operation === 'UPDATE') &&
  attributes.subresource === '' &&
  attributes.namespace !== '' &&
  !isAboutNamespace(attributes)

const chargeAll = async (
  attributes: AdmissionAttributes,
  all: readonly KubeObject[],
): Promise<void> => {
  const { object, oldObject, ctx, operation } = attributes
  const isCreate = operation === 'CREATE'
  const usage = usageOf(attributes, object!)
  const charges: { quota: KubeObject; delta: Usage }[] = []
  for (const quota of all) {
    if (!isInScope(attributes, object!, quota)) continue
    checkSpecified(attributes, quota)
    const hard: Usage = quota.status?.hard ?? {}
    if (!Object.keys(usage).some((name) => hard[name] !== undefined)) continue
    const wasInScope = !isCreate && isInScope(attributes, oldObject!, quota)
    const delta = growth(usage, wasInScope ? usageOf(attributes, oldObject!) : undefined)
    if (count(attributes, quota, delta) !== undefined) charges.push({ quota, delta })
  }
  if (ctx.dryRun) return
  for (const { quota, delta } of charges) await charge(attributes, quota, delta)
}

export const resourceQuota: AdmissionPlugin = {
  name: 'ResourceQuota',
  validate: (attributes) => {
    if (!isCounted(attributes)) return
    return whenKnown(listObjects(attributes.ctx, quotas, attributes.namespace), (all) =>
      all.length === 0 ? undefined : chargeAll(attributes, all),
    )
  },
}
