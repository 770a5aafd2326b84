/** Resources of a pod that runs (kubernetes, core/validation: ValidatePodResize). */
import { child, type FieldError, forbidden, index, invalid } from '#api/field-error.js'
import type { Fields, KubeObject } from '#api/object.js'
import { sameJson } from '../immutable.js'
import { validPod } from './pod.js'
import { isSidecar } from './pod-level-resources.js'
import { podQos } from './pod-qos.js'

const resizable = new Set(['cpu', 'memory'])

const removals = (path: string, next: Fields = {}, previous: Fields = {}): FieldError[] =>
  ['limits', 'requests'].flatMap((list) =>
    Object.keys(previous[list] ?? {})
      .filter((name) => next[list]?.[name] === undefined)
      .map(() => forbidden(child(path, list), `resource ${list} cannot be removed`)),
  )

const withoutResizable = (container: Fields): Fields => {
  const keep = (list: Fields | undefined): Fields =>
    Object.fromEntries(Object.entries(list ?? {}).filter(([name]) => !resizable.has(name)))
  const { resources = {}, ...rest } = container
  return {
    ...rest,
    resources: { limits: keep(resources.limits), requests: keep(resources.requests) },
  }
}

const restartsToResize = (container: Fields): boolean =>
  !isSidecar(container) &&
  ((container.resizePolicy ?? []) as Fields[]).some((p) => p.restartPolicy === 'RestartContainer')

const listErrors = (field: string, next: Fields[], previous: Fields[]): FieldError[] =>
  previous.flatMap((old, i) => {
    const container = next[i]!
    const path = index(`spec.${field}`, i)
    const refusal =
      field === 'initContainers'
        ? forbidden(
            path,
            'only cpu and memory resources for init or sidecar containers are mutable',
          )
        : forbidden('spec', 'only cpu and memory resources are mutable')
    return [
      ...removals(child(path, 'resources'), container.resources, old.resources),
      ...(sameJson(withoutResizable(container), withoutResizable(old)) ? [] : [refusal]),
      ...(field === 'initContainers' && restartsToResize(container)
        ? [
            forbidden(
              path,
              'non-sidecar init containers with a resize policy of RestartContainer cannot be resized',
            ),
          ]
        : []),
    ]
  })

export const validateResize = (next: KubeObject, previous: KubeObject): FieldError[] => {
  if (previous.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined)
    return [forbidden('', 'static pods cannot be resized')]
  if (previous.spec.os?.name === 'windows') return [forbidden('', 'windows pods cannot be resized')]
  const errors = validPod(next)
  const moved: FieldError[] = []
  for (const field of ['containers', 'initContainers']) {
    const after: Fields[] = next.spec[field] ?? []
    const before: Fields[] = previous.spec[field] ?? []
    if (after.length !== before.length)
      moved.push(forbidden(`spec.${field}`, `${field} may not be added or removed on resize`))
    else
      for (const [i, container] of before.entries())
        if (container.name !== after[i]!.name)
          moved.push(
            forbidden(
              child(index(`spec.${field}`, i), 'name'),
              `${field} may not be renamed or reordered on resize`,
            ),
          )
  }
  const before: string = previous.status?.qosClass ?? podQos(previous.spec)
  if (podQos(next.spec) !== before)
    errors.push(invalid('spec', before, 'Pod QOS Class may not change as a result of resizing'))
  if (moved.length > 0) return [...errors, ...moved]
  return [
    ...errors,
    ...listErrors(
      'initContainers',
      next.spec.initContainers ?? [],
      previous.spec.initContainers ?? [],
    ),
    ...listErrors('containers', next.spec.containers ?? [], previous.spec.containers ?? []),
  ]
}
