/** A CustomResourceDefinition as it is stored. */

import type { PersistedObject } from '#api/object.js'
import { oncePer } from '#async/once.js'
import { jsonEqual } from '#json/object.js'
import type { TableColumn } from '#registry/resource-definition.js'
import type { WebhookClientConfig } from '#validation/webhook-client.js'
import type { StructuralSchema } from '../structural-schema.js'

export interface DefinitionNames {
  plural: string
  singular?: string
  kind: string
  listKind?: string
  shortNames?: string[]
  categories?: string[]
}

export interface PrinterColumn {
  name: string
  type: TableColumn['type']
  format?: string
  description?: string
  priority?: number
  jsonPath: string
}

export interface DefinitionVersion {
  name: string
  served: boolean
  storage: boolean
  deprecated?: boolean
  deprecationWarning?: string
  schema?: { openAPIV3Schema?: StructuralSchema }
  subresources?: {
    status?: object
    scale?: { specReplicasPath?: string; statusReplicasPath?: string; labelSelectorPath?: string }
  }
  additionalPrinterColumns?: PrinterColumn[]
  selectableFields?: { jsonPath: string }[]
}

export interface DefinitionCondition {
  type: string
  status: 'True' | 'False' | 'Unknown'
  lastTransitionTime?: string
  reason?: string
  message?: string
}

export interface CustomResourceDefinition extends PersistedObject {
  spec: {
    group: string
    scope: string
    names: DefinitionNames
    versions: DefinitionVersion[]
    conversion?: {
      strategy: string
      webhook?: {
        clientConfig?: WebhookClientConfig
        conversionReviewVersions?: string[]
      }
    }
    preserveUnknownFields?: boolean
  }
  status?: {
    conditions?: DefinitionCondition[] | null
    acceptedNames: DefinitionNames
    storedVersions?: string[] | null
  }
}

/** The finalizer that keeps a definition until its objects are gone. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io'

export const schemaOf = (version: DefinitionVersion): StructuralSchema =>
  version.schema?.openAPIV3Schema ?? {}

/** Of a definition that was validated: it has exactly one. */
export const storageVersionOf = ({ spec }: CustomResourceDefinition): DefinitionVersion =>
  spec.versions.find(({ storage }) => storage)!

/** What upstream's internal form holds at the top where all versions share it. */
export type VersionPart =
  | 'schema'
  | 'subresources'
  | 'additionalPrinterColumns'
  | 'selectableFields'

/**
 * Upstream's internal form holds what all versions share once, at the top; its error paths show that form:
 * `spec.validation…` and `spec.subresources…` instead of `spec.versions[0]…`.
 */
export const isSharedByVersions = (
  versions: readonly DefinitionVersion[],
  part: VersionPart,
): boolean =>
  versions.every((version) => jsonEqual(version[part] ?? null, versions[0]![part] ?? null))

/** The same for who asks with each version: there may be very many. */
export const sharedByVersions = (
  versions: readonly DefinitionVersion[],
): ((part: VersionPart) => boolean) =>
  oncePer((part: VersionPart) => isSharedByVersions(versions, part))
