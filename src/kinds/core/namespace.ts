import { type FieldError, index, invalid, shownAsJson } from '#api/field-error.js'
import { dnsLabelName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { validQualifiedName } from '#validation/formats.js'
import { deleteNamespace, namespaceMayBeRemoved } from './namespace-deletion.js'

const nameLabel = 'kubernetes.io/metadata.name'
const owner = 'kubernetes'

/** Selectors by name work only because every Namespace carries its own as a label. */
const labelWithName = ({ metadata }: KubeObject): void => {
  if (metadata.name) metadata.labels = { ...metadata.labels, [nameLabel]: metadata.name }
}

const finalizerErrors = (object: KubeObject, pathOf: (at: number) => string): FieldError[] =>
  ((object.spec?.finalizers ?? []) as string[]).flatMap((finalizer, at) => {
    const path = pathOf(at)
    const errors = validQualifiedName(path, finalizer)
    if (!finalizer.includes('/') && finalizer !== owner)
      errors.push(
        invalid(
          path,
          finalizer,
          'name is neither a standard finalizer name nor is it fully qualified',
        ),
      )
    return errors
  })

const validateFinalizers = (object: KubeObject): FieldError[] =>
  finalizerErrors(object, () => 'spec.finalizers')

/** The phase follows from deletionTimestamp; a status may not say otherwise. */
const validatePhase = (next: KubeObject): FieldError[] => {
  const ends = next.metadata.deletionTimestamp !== undefined
  const phase = ends ? 'Terminating' : 'Active'
  const found = next.status?.phase ?? ''
  if (found === phase) return []
  const when = ends ? 'is not empty' : 'is empty'
  const problem = `may only be '${phase}' if \`deletionTimestamp\` ${when}`
  return [shownAsJson(invalid('status.Phase', found, problem))]
}

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'Namespace',
  subresources: [
    {
      name: 'finalize',
      style: 'view',
      // Metadata is as sent, too; status is not.
      write: (parent, next) => ({ ...next, status: parent.status }),
      metadataRevalidation: 'change',
      // Only here upstream numbers them.
      validateUpdate: (next) => finalizerErrors(next, (at) => index('spec.finalizers', at)),
    },
  ],
  strategy: {
    defaultsMetadata: true,
    default: (object) => {
      labelWithName(object)
      object.status ??= {}
      object.status.phase ||= 'Active'
    },
    validateName: dnsLabelName,
    metadataRevalidation: 'createFirst',
    generation: 'none',
    prepareForCreate: (object) => {
      labelWithName(object)
      const given: string[] = object.spec?.finalizers ?? []
      object.spec = {
        ...object.spec,
        finalizers: given.includes(owner) ? given : [...given, owner],
      }
      object.status = { phase: 'Active' }
    },
    prepareForUpdate: (next, previous) => {
      next.spec = { ...next.spec, finalizers: previous.spec?.finalizers }
      if (previous.spec?.finalizers === undefined) delete next.spec.finalizers
      next.status = previous.status
    },
    validate: validateFinalizers,
    status: { validateUpdate: validatePhase },
    delete: deleteNamespace,
    mayBeRemoved: namespaceMayBeRemoved,
  },
  sample: { metadata: { name: 'sample' } },
})
