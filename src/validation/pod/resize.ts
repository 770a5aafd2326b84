/** Resources of a pod that runs (kubernetes, core/validation: ValidatePodResize). */

import { child, type FieldError, forbidden, index, invalid } from '#api/field-error.js'
import { isMirrorPod } from '#api/mirror-pods.js'
import type { Fields, KubeObject } from '#api/object.js'
import { podQos } from '#api/pod-qos.js'
import { isSidecar } from '#api/pod-resources.js'
import { pushAll } from '#collections/push-all.js'
import { sameJson } from '../immutable.js'
import { validChangedPod } from './pod.js'

const lists = ['requests', 'limits'] as const

/** One error for each list that loses an entry. */
const removals = (
  path: string,
  { next = {}, previous = {} }: { next?: Fields; previous?: Fields },
  what: string,
): FieldError[] =>
  lists
    .filter((list) =>
      Object.keys(previous[list] ?? {}).some((name) => next[list]?.[name] === undefined),
    )
    .map((list) => forbidden(child(path, list), `${what} ${list} cannot be removed`))

const withoutResizable = (resources: Fields = {}): Fields => {
  const keep = ({ cpu: _cpu, memory: _memory, ...others }: Fields = {}): Fields => others
  return { limits: keep(resources.limits), requests: keep(resources.requests) }
}

/** Upstream drops claims of the next container only, so one with claims cannot be resized. */
const changesMore = (next: Fields, previous: Fields): boolean =>
  !sameJson(
    { ...next, resources: withoutResizable(next.resources) },
    {
      ...previous,
      resources: { ...previous.resources, ...withoutResizable(previous.resources) },
    },
  )

const orderErrors = (field: string, next: Fields[], previous: Fields[]): FieldError[] =>
  next.length === previous.length
    ? previous.flatMap(({ name }, i) =>
        next[i]!.name === name
          ? []
          : [
              forbidden(
                child(index(`spec.${field}`, i), 'name'),
                `${field} may not be renamed or reordered on resize`,
              ),
            ],
      )
    : [forbidden(`spec.${field}`, `${field} may not be added or removed on resize`)]

const removedFrom = (field: string, next: Fields[], previous: Fields[]): FieldError[] =>
  previous.flatMap((old, i) =>
    removals(
      child(index(`spec.${field}`, i), 'resources'),
      { next: next[i]!.resources, previous: old.resources },
      'resource',
    ),
  )

const onlyResources = 'only cpu and memory resources'

const initErrors = (next: Fields[], previous: Fields[]): FieldError[] =>
  previous.flatMap((old, i) => {
    const container = next[i]!
    const path = index('spec.initContainers', i)
    const restarts =
      !isSidecar(container) &&
      !sameJson(container, old) &&
      ((container.resizePolicy ?? []) as Fields[]).some(
        ({ restartPolicy }) => restartPolicy === 'RestartContainer',
      )
    return [
      ...(changesMore(container, old)
        ? [forbidden(path, `${onlyResources} for init or sidecar containers are mutable`)]
        : []),
      ...(restarts
        ? [
            forbidden(
              path,
              'non-sidecar init containers with a resize policy of RestartContainer cannot be resized',
            ),
          ]
        : []),
    ]
  })

const hasOwnAmounts = ({ resources }: Fields): boolean =>
  lists.some((list) => Object.keys(resources?.[list] ?? {}).length > 0)

/** Amounts of the pod itself. */
const podErrors = (next: Fields, previous: Fields): FieldError[] => {
  if (!hasOwnAmounts(next) && !hasOwnAmounts(previous)) return []
  if (previous.resources !== undefined && next.resources === undefined)
    return [forbidden('spec.resources', 'pod-level resources cannot be removed')]
  const others = ({ resources }: Fields): Fields => ({
    claims: resources?.claims ?? [],
    ...withoutResizable(resources),
  })
  return [
    ...removals(
      'spec.resources',
      { next: next.resources, previous: previous.resources },
      'pod-level resource',
    ),
    ...(sameJson(others(next), others(previous))
      ? []
      : [forbidden('spec', `${onlyResources} are mutable at pod-level`)]),
  ]
}

/** A kubelet that can resize says which resources its containers have. */
const runsUnresizable = ({ status }: KubeObject): boolean => {
  const statuses: Fields[] = status?.containerStatuses ?? []
  const running = statuses.find(({ state }) => state?.running !== undefined)
  return running !== undefined && running.resources === undefined
}

export const validateResize = (next: KubeObject, previous: KubeObject): FieldError[] => {
  if (isMirrorPod(previous)) return [forbidden('[]', 'static pods cannot be resized')]
  if (previous.spec.os?.name === 'windows')
    return [forbidden('[]', 'windows pods cannot be resized')]
  const errors = validChangedPod(next, previous)
  const qos: string = previous.status?.qosClass ?? podQos(previous.spec)
  if (podQos(next.spec) !== qos)
    errors.push(
      invalid(
        'spec',
        next.status?.qosClass ?? '',
        'Pod QOS Class may not change as a result of resizing',
      ),
    )
  if (runsUnresizable(previous))
    errors.push(forbidden('spec', 'Pod running on node without support for resize'))
  errors.push(...podErrors(next.spec, previous.spec))
  const listOf = ({ spec }: KubeObject, field: string): Fields[] => spec[field] ?? []
  const [containers, before] = [listOf(next, 'containers'), listOf(previous, 'containers')]
  const [inits, initsBefore] = [listOf(next, 'initContainers'), listOf(previous, 'initContainers')]
  const moved = [
    ...orderErrors('containers', containers, before),
    ...orderErrors('initContainers', inits, initsBefore),
  ]
  if (moved.length > 0) return [...errors, ...moved]
  pushAll(errors, [
    ...removedFrom('initContainers', inits, initsBefore),
    ...removedFrom('containers', containers, before),
    ...before
      .filter((old, i) => changesMore(containers[i]!, old))
      .map(() => forbidden('spec', `${onlyResources} are mutable`)),
    ...initErrors(inits, initsBefore),
  ])
  const gainsOrLosesAll =
    (next.spec.resources === undefined) !== (previous.spec.resources === undefined)
  if (errors.length === 0 && gainsOrLosesAll && !hasOwnAmounts(next.spec))
    errors.push(forbidden('spec', `${onlyResources} are mutable`))
  return errors
}
