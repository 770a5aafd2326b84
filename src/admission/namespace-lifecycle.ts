/** Refuses creates in a namespace that does not exist or is terminating (apiserver, namespace/lifecycle/admission.go). */
import { ApiError, internalError, notFound } from '#api/errors.js'
import { isPathSegmentName } from '#api/names.js'
import { whenKnown } from '#async/when-known.js'
import { goQuote } from '#go/quote.js'
import {
  type AdmissionPlugin,
  findNamespace,
  isAboutNamespace,
  namespaces,
  refuse,
} from './plugin.js'

const immortal = new Set(['default', 'kube-system', 'kube-public'])

const withCause = (error: ApiError, namespace: string): ApiError =>
  new ApiError({
    ...error.status,
    details: {
      ...error.status.details,
      causes: [
        {
          reason: 'NamespaceTerminating',
          message: `namespace ${namespace} is being terminated`,
          field: 'metadata.namespace',
        },
      ],
    },
  })

/** Upstream asks its own API for a Namespace that its cache lacks, and client-go refuses an invalid name. */
const missing = (namespace: string): ApiError => {
  const problems = isPathSegmentName(namespace)
  return problems.length > 0
    ? internalError(`invalid resource name ${goQuote(namespace)}: [${problems.join(' ')}]`)
    : notFound(namespaces, namespace)
}

export const namespaceLifecycle: AdmissionPlugin = {
  name: 'NamespaceLifecycle',
  mutate: (attributes) => {
    const { operation, resource, namespace } = attributes
    const isNamespace = isAboutNamespace(attributes)
    if (isNamespace && operation === 'DELETE' && immortal.has(attributes.name))
      throw refuse(attributes, 'this namespace may not be deleted')
    if (isNamespace || namespace === '') return
    if (operation !== 'CREATE' && operation !== 'UPDATE') return
    if (resource.resource === 'localsubjectaccessreviews') return
    return whenKnown(findNamespace(attributes), (found) => {
      if (found === undefined) throw missing(namespace)
      if (operation === 'CREATE' && found.status?.phase === 'Terminating')
        throw withCause(
          refuse(
            attributes,
            `unable to create new content in namespace ${namespace} because it is being terminated`,
          ),
          namespace,
        )
    })
  },
}
