/** The number behind a priority class (kubernetes, plugin/pkg/admission/priority). */
import type { KubeObject } from '#api/object.js'
import { whenKnown } from '#async/when-known.js'
import type { AdmissionAttributes, AttributesOf } from '#registry/admission.js'
import {
  type AdmissionPlugin,
  findObject,
  isAbout,
  isPodCreate,
  listObjects,
  refuse,
} from './plugin.js'

const classes = { group: 'scheduling.k8s.io', resource: 'priorityclasses' }
const classWrites = { ...classes, operations: ['CREATE', 'UPDATE'] } as const
const podUpdates = { group: '', resource: 'pods', operations: ['UPDATE'] } as const

interface Priority {
  name: string
  value: number
  policy: string
}

const priorityOf = (found: KubeObject): Priority => ({
  name: found.metadata.name ?? '',
  value: found.value ?? 0,
  policy: found.preemptionPolicy ?? 'PreemptLowerPriority',
})

const noPriority: Priority = { name: '', value: 0, policy: 'PreemptLowerPriority' }

const defaultPriority = ({ ctx }: AdmissionAttributes): Priority | Promise<Priority> =>
  whenKnown(listObjects(ctx, classes), (all) => {
    let lowest: KubeObject | undefined
    for (const found of all)
      if (found.globalDefault && (lowest === undefined || (found.value ?? 0) < (lowest.value ?? 0)))
        lowest = found
    return lowest === undefined ? noPriority : priorityOf(lowest)
  })

const namedPriority = (
  attributes: AdmissionAttributes,
  name: string,
): Priority | Promise<Priority> =>
  whenKnown(findObject(attributes.ctx, classes, { name }), (found) => {
    if (found === undefined)
      throw refuse(attributes, `no PriorityClass with name ${name} was found`)
    return priorityOf(found)
  })

const admitPod = (attributes: AttributesOf<'CREATE'>): void | Promise<void> => {
  const asked: string = attributes.object.spec.priorityClassName ?? ''
  const priority = asked === '' ? defaultPriority(attributes) : namedPriority(attributes, asked)
  return whenKnown(priority, (found) => setPriority(attributes, found))
}

const setPriority = (
  attributes: AttributesOf<'CREATE'>,
  { name, value, policy }: Priority,
): void => {
  const { spec } = attributes.object
  if (name !== '') spec.priorityClassName = name
  const tail = 'must not be provided in pod spec; priority admission controller computed'
  if (spec.priority !== undefined && spec.priority !== value)
    throw refuse(
      attributes,
      `the integer value of priority (${spec.priority}) ${tail} ${value} from the given PriorityClass name`,
    )
  spec.priority = value
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy)
    throw refuse(
      attributes,
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) ${tail} ${policy} from the given PriorityClass name`,
    )
  spec.preemptionPolicy = policy
}

export const podPriority: AdmissionPlugin = {
  name: 'Priority',
  resources: ['pods', 'priorityclasses'],
  mutate: (attributes) => {
    if (isPodCreate(attributes)) return admitPod(attributes)
    if (!isAbout(attributes, podUpdates)) return
    const [next, previous] = [attributes.object.spec, attributes.oldObject?.spec]
    if (previous?.priority !== undefined) next.priority ??= previous.priority
    if (previous?.preemptionPolicy !== undefined)
      next.preemptionPolicy ??= previous.preemptionPolicy
  },
  validate: (attributes) => {
    if (!isAbout(attributes, classWrites)) return
    const { globalDefault, metadata } = attributes.object
    const isNew = attributes.operation === 'CREATE'
    if (!globalDefault) return
    return whenKnown(listObjects(attributes.ctx, classes), (all) => {
      const other = all.find((c) => c.globalDefault && (isNew || c.metadata.name !== metadata.name))
      if (other !== undefined)
        throw refuse(
          attributes,
          `PriorityClass ${other.metadata.name} is already marked as default. Only one default can exist`,
        )
    })
  },
}
