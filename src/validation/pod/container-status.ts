/**
 * What a container's status may say of users, and of devices that the container was given (core/validation:
 * ValidatePodStatusUpdate).
 */

import { each } from '#api/each.js'
import {
  child,
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  tooLong,
} from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { validId } from '../formats.js'
import { byName } from './by-name.js'

const linuxUserErrors = (path: string, { uid, gid, supplementalGroups }: Fields): FieldError[] => [
  ...validId(child(path, 'uid'), uid),
  ...validId(child(path, 'gid'), gid),
  ...each(child(path, 'supplementalGroups'), supplementalGroups as number[] | undefined, (id, at) =>
    validId(at, id),
  ),
]

export const userErrors = (
  path: string,
  statuses: Fields[] | undefined,
  os: string,
): FieldError[] =>
  each(path, statuses, ({ user }, at) => {
    if (!user?.linux) return []
    const linux = child(at, 'user', 'linux')
    return os === 'windows'
      ? [forbidden(linux, 'cannot be set for a windows pod')]
      : linuxUserErrors(linux, user.linux)
  })

const healths = ['Healthy', 'Unhealthy', 'Unknown']
/** core/v1: ResourceHealthMessageMaxLength. */
const messageLengthMax = 1024

const healthErrors = (path: string, resources: Fields[] | undefined): FieldError[] => {
  const seen = new Set<string>()
  return each(path, resources, ({ resourceID = '', health = '', message }, at) => {
    const errors: FieldError[] = []
    if (!healths.includes(health)) errors.push(notSupported(child(at, 'health'), health, healths))
    if (message === '')
      errors.push(required(child(at, 'message'), 'must be non-empty if specified'))
    else if (Buffer.byteLength(message ?? '') > messageLengthMax)
      errors.push(tooLong(child(at, 'message'), messageLengthMax))
    if (seen.has(resourceID)) errors.push(duplicate(child(at, 'resourceID'), resourceID))
    seen.add(resourceID)
    return errors
  })
}

const claimPrefix = 'claim:'
const claimDetail =
  "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"

/** What a container's own resources may be called in its status. */
const ownersOf = ({ resources }: Fields): ReadonlySet<string> =>
  new Set([
    ...Object.keys(resources?.requests ?? {}).filter((name) => !name.startsWith(claimPrefix)),
    ...((resources?.claims ?? []) as Fields[]).map(
      (claim) => `${claimPrefix}${claim.name}${claim.request ? `/${claim.request}` : ''}`,
    ),
  ])

const ownerDetail = (name: string): string =>
  name.startsWith(claimPrefix) ? claimDetail : "must match one of the container's resource requests"

export const allocatedErrors = (
  path: string,
  statuses: Fields[] | undefined,
  containers: Fields[] | undefined,
): FieldError[] => {
  const known = byName(containers)
  const made = new Map<string, ReadonlySet<string> | undefined>()
  return each(path, statuses, ({ name, allocatedResourcesStatus }, at) => {
    if (!allocatedResourcesStatus) return []
    const container = known.get(name)
    // A status of no container of the Pod's is let through, upstream too.
    if (!made.has(name)) made.set(name, container && ownersOf(container))
    const owners = made.get(name)
    return each(
      child(at, 'allocatedResourcesStatus'),
      allocatedResourcesStatus as Fields[],
      (allocated, where) => {
        const owner: string = allocated.name ?? ''
        return [
          ...(owners === undefined || owners.has(owner)
            ? []
            : [invalid(child(where, 'name'), owner, ownerDetail(owner))]),
          ...healthErrors(child(where, 'resources'), allocated.resources),
        ]
      },
    )
  })
}

export const noAllocatedErrors = (path: string, statuses: Fields[] | undefined): FieldError[] =>
  each(path, statuses, ({ allocatedResourcesStatus }, at) =>
    allocatedResourcesStatus?.length > 0
      ? [
          forbidden(
            child(at, 'allocatedResourcesStatus'),
            'must not be specified in container status',
          ),
        ]
      : [],
  )
