/** Which built-in APIs are served, as --runtime-config says it (apiserver, server/resourceconfig). */

import type { GroupVersionResource } from '#api/group-version.js'
import { aggregate } from '#go/aggregate.js'
import { goBooleanProblem, parseGoBoolean } from '#go/boolean.js'
import { goQuote } from '#go/quote.js'
import { enablement } from '#openapi/schemas.js'
import type { ServerOptions } from './options.js'

interface ServedApis {
  isServed(gvr: GroupVersionResource): boolean
  /** Keys that turn on something that does not exist here: versions that v1.36 does not serve by default. */
  readonly absent: readonly string[]
}

/** Forms of a version (`api/ga`, `api/beta`, …), in order of precedence. */
const forms: Readonly<Record<string, RegExp>> = {
  'api/all': /./,
  'api/ga': /^v\d+$/,
  'api/beta': /^v\d+beta\d+$/,
  'api/alpha': /^v\d+alpha\d+$/,
}

/** Upstream's flow control reads its own configuration from this API, so neither can be off without the other. */
const flowControl = ['flowcontrol.apiserver.k8s.io/v1', 'api/ga', 'api/all']

const checkFlowControl = (config: ReadonlyMap<string, string>): string[] => {
  const key = flowControl.find((one) => ['true', 'false'].includes(config.get(one) ?? ''))
  return key === undefined || config.get(key) === 'true'
    ? []
    : [`--runtime-config=${key}=false conflicts with --enable-priority-and-fairness=true`]
}

interface Preference {
  readonly key: string
  readonly groupVersion: string
  readonly resource: string | undefined
}

/** `apps/v1`, `apps/v1/deployments`, and `/v1` for the core group. Throws an Error. */
const preferencesOf = (config: ReadonlyMap<string, string>): Preference[] =>
  [...config.keys()]
    .filter((key) => !Object.hasOwn(forms, key))
    .map((key) => {
      const [group, version, resource, ...more] = key.split('/')
      if (version === undefined || more.length > 0)
        throw new Error(`runtime-config invalid key ${key}`)
      return { key, groupVersion: `${group}/${version}`, resource }
    })

/** Upstream's own key for the core group. */
const normalized = (given: Readonly<Record<string, string>>): Map<string, string> =>
  new Map(
    Object.entries(given)
      .filter(([key]) => key !== 'api/legacy')
      .map(([key, value]) => [/^(api\/)?v1(\/|$)/.test(key) ? '/v1' : key, value]),
  )

const checkKnown = (preferences: readonly Preference[]): string[] => {
  const groups = new Set(enablement().groupVersions.map((known) => known.split('/')[0]))
  const unknown = preferences.filter(({ groupVersion }) => !groups.has(groupVersion.split('/')[0]))
  const shown = [...new Set(unknown.map(({ groupVersion }) => groupVersion.replace(/^\//, '')))]
  return shown.length === 0 ? [] : [`unknown api groups ${shown.sort().join(',')}`]
}

const readForms = (config: ReadonlyMap<string, string>): [RegExp, boolean][] =>
  Object.entries(forms).flatMap(([key, form]): [RegExp, boolean][] => {
    const value = config.get(key)
    if (value === undefined) return []
    if (value !== 'true' && value !== 'false') throw new Error(`invalid value ${key}=${value}`)
    return [[form, value === 'true']]
  })

const isOn = ({ key }: Preference, config: ReadonlyMap<string, string>): boolean => {
  const value = config.get(key)!
  if (value === '') return true
  const on = parseGoBoolean(value)
  if (on === undefined)
    throw new Error(`invalid value of ${key}: ${value}, err: ${goBooleanProblem(value)}`)
  return on
}

/** `builtIn`: all built-in rows. A key without a value is true. Throws an Error with kube-apiserver's text. */
export const readRuntimeConfig = (
  given: Readonly<Record<string, string>>,
  { priorityAndFairness = true }: ServerOptions,
  builtIn: Iterable<GroupVersionResource>,
): ServedApis => {
  const config = normalized(given)
  const preferences = preferencesOf(config)
  const isNothing = config.get('api/all') === 'false' && config.size === 1
  const problem = aggregate([
    ...(priorityAndFairness ? checkFlowControl(config) : []),
    ...(isNothing ? ['invalid runtime-config with only api/all=false'] : checkKnown(preferences)),
  ])
  if (problem !== undefined) throw new Error(problem)
  const byForm = readForms(config)
  const byVersion = new Map<string, boolean>()
  const byResource = new Map<string, boolean>()
  for (const preference of preferences) {
    const { key, groupVersion, resource } = preference
    if (!enablement().groupVersions.includes(groupVersion))
      throw new Error(
        `group version ${groupVersion.replace(/^\//, '')} that has not been registered`,
      )
    if (resource !== undefined && resource !== resource.toLowerCase())
      throw new Error(
        `invalid key ${key}: group/version/resource and resource is always lowercase plural, not ${goQuote(resource)}`,
      )
    const on = isOn(preference, config)
    if (resource === undefined) byVersion.set(groupVersion, on)
    else byResource.set(`${groupVersion}/${resource}`, on)
  }
  const there = new Set<string>()
  for (const { group, version, resource } of builtIn)
    for (const key of [`${group}/${version}`, `${group}/${version}/${resource}`]) there.add(key)
  const wanted = [...byVersion, ...byResource].filter(([, on]) => on).map(([key]) => key)
  const more = Object.keys(forms).filter((key) => key !== 'api/ga' && config.get(key) === 'true')
  return {
    isServed: ({ group, version, resource }) =>
      byResource.get(`${group}/${version}/${resource}`) ??
      byVersion.get(`${group}/${version}`) ??
      byForm.findLast(([form]) => form.test(version))?.[1] ??
      true,
    absent: [...wanted.filter((key) => !there.has(key)), ...more],
  }
}
