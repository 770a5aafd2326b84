/** How the server itself acts on its own resources: bootstrap objects, allocations, what admission writes. */
import { mastersGroup, type UserInfo } from '#api/user-info.js'
import type { RequestContext } from './resource-definition.js'

const apiserverUser: UserInfo = { name: 'system:apiserver', groups: [mastersGroup] }

/** A context of the server's own for one resource; never a dry run, warns nobody. */
export const internalContext = (
  base: Pick<RequestContext, 'now' | 'caller' | 'stores'>,
  namespace?: string,
): RequestContext => ({
  user: apiserverUser,
  verb: '',
  namespace,
  subresource: '',
  dryRun: false,
  now: base.now,
  caller: base.caller,
  warn: () => {},
  userAgent: 'kube-apiserver',
  fieldManager: 'kube-apiserver',
  fieldValidation: '',
  stores: base.stores,
})
