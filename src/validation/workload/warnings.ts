/** Warnings about pod templates, of every kind that has one at the usual place. */
import { child } from '#api/field-error.js'
import { isDns1123Label } from '#api/names.js'
import type { Fields, KubeObject } from '#api/object.js'
import { podSpecWarnings } from '../pod/warnings.js'

export const podTemplateWarnings = (path: string, template: Fields | undefined): string[] =>
  template?.spec
    ? podSpecWarnings(
        child(path, 'spec'),
        template.spec,
        child(path, 'metadata'),
        template.metadata,
      )
    : []

/** A kind whose pods are named after it should have a name that fits a hostname. */
export const nameWarnings = ({ metadata }: KubeObject): string[] => {
  const messages = isDns1123Label(metadata.name ?? '')
  return messages.length === 0
    ? []
    : [
        `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${messages.join(' ')}]`,
      ]
}

export const templateWarnings = ({ spec }: KubeObject): string[] =>
  podTemplateWarnings('spec.template', spec.template)

const trackedCompletionsMax = 100_000
const trackedParallelismMax = 10_000

/** `path` of the job's spec. */
export const jobSpecWarnings = (path: string, spec: Fields | undefined): string[] => {
  const { completionMode, completions = 0, parallelism = 0, template } = spec ?? {}
  const isLarge =
    completionMode === 'Indexed' &&
    completions > trackedCompletionsMax &&
    parallelism > trackedParallelismMax
  return [
    ...(isLarge
      ? [
          `${path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`,
        ]
      : []),
    ...podTemplateWarnings(child(path, 'template'), template),
  ]
}

/** Those of an update, which is silent unless the spec changes. */
export const templateWarningsOnUpdate = (next: KubeObject, previous: KubeObject): string[] =>
  next.metadata.generation === previous.metadata.generation ? [] : templateWarnings(next)
