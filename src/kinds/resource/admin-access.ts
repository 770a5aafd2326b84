/**
 * Which claims may have devices that others use: those of namespaces with a label (kubernetes, pkg/registry/resource,
 * DRAAdminAccess).
 */
import { ApiError, invalid } from '#api/errors.js'
import { child, type FieldError, forbidden, index } from '#api/field-error.js'
import type { Fields, KubeObject } from '#api/object.js'
import { internalContext } from '#registry/internal-context.js'
import type { RequestContext } from '#registry/resource-definition.js'

const label = 'resource.kubernetes.io/admin-access'

const mayHave = async (ctx: RequestContext): Promise<boolean> => {
  const namespaces = ctx.stores({ group: '', resource: 'namespaces' })
  try {
    const found = await namespaces?.get(internalContext(ctx), ctx.namespace ?? '')
    return found?.object.metadata.labels?.[label] === 'true'
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return false
    throw error
  }
}

/** The path of the first request for admin access; upstream reports no more. */
export const adminRequest = (spec: Fields | undefined): string | undefined => {
  const requests: Fields[] = spec?.devices?.requests ?? []
  const at = requests.findIndex(({ exactly }) => exactly?.adminAccess === true)
  return at < 0 ? undefined : child(index('spec.devices.requests', at), 'adminAccess')
}

export const adminResult = (status: Fields | undefined): string | undefined => {
  const results: Fields[] = status?.allocation?.devices?.results ?? []
  const at = results.findIndex(({ adminAccess }) => adminAccess === true)
  return at < 0 ? undefined : child(index('status.allocation.devices.results', at), 'adminAccess')
}

/** `path` is what asks for it, if anything does. */
export const adminAccessErrors = async (
  ctx: RequestContext,
  path: string | undefined,
): Promise<FieldError[]> =>
  path === undefined || (await mayHave(ctx))
    ? []
    : [
        forbidden(
          path,
          `admin access to devices requires the \`${label}: true\` label on the containing namespace`,
        ),
      ]

/** Throws 422, with what else is wrong with the object, when `path` asks for what its namespace may not have. */
export const checkAdminAccess = async (
  object: KubeObject,
  ctx: RequestContext,
  path: string | undefined,
  others: () => FieldError[],
): Promise<undefined> => {
  const errors = await adminAccessErrors(ctx, path)
  if (errors.length === 0) return undefined
  const { kind, metadata } = object
  throw invalid({ group: 'resource.k8s.io', kind }, metadata.name ?? '', [...errors, ...others()])
}
