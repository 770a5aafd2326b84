/** NamespaceAutoProvision and NamespaceExists (kubernetes, plugin/pkg/admission/namespace). */
import { ApiError, forbidden, notFound } from '#api/errors.js'
import { whenKnown } from '#async/when-known.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import { internalContext } from '#registry/internal-context.js'
import { type AdmissionPlugin, findNamespace, isAboutNamespace, namespaces } from './plugin.js'

const isInNamespace = (attributes: AdmissionAttributes): boolean =>
  attributes.namespace !== '' && !isAboutNamespace(attributes)

const provide = async (attributes: AdmissionAttributes): Promise<void> => {
  const { ctx, namespace: name, resource } = attributes
  const store = ctx.stores(namespaces)!
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
  // With the defaults that the decoder would have written.
  store.definition.strategy.default?.(namespace)
  try {
    await store.create(internalContext(ctx), namespace)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status.reason !== 'AlreadyExists')
      throw forbidden(resource, attributes.name, error.message)
  }
}

export const namespaceAutoProvision: AdmissionPlugin = {
  name: 'NamespaceAutoProvision',
  mutate: (attributes) => {
    if (attributes.operation !== 'CREATE' || attributes.ctx.dryRun) return
    if (!isInNamespace(attributes)) return
    return whenKnown(findNamespace(attributes), (found) =>
      found === undefined ? provide(attributes) : undefined,
    )
  },
}

export const namespaceExists: AdmissionPlugin = {
  name: 'NamespaceExists',
  validate: (attributes) => {
    if (attributes.operation === 'CONNECT' || !isInNamespace(attributes)) return
    return whenKnown(findNamespace(attributes), (found) => {
      if (found === undefined) throw notFound(namespaces, attributes.namespace)
    })
  },
}
