/**
 * Authorizes kubelets: for objects that are related to their node, and by rules that all nodes have (kubernetes,
 * plugin/pkg/auth/authorizer/node/node_authorizer.go). What depends on the written object is allowed here and checked by
 * NodeRestriction.
 */

import { nodeIdentity } from '#api/user-info.js'
import { goQuote } from '#go/quote.js'
import {
  type Attributes,
  type Authorizer,
  allowed,
  type Decision,
  noOpinion,
} from './authorizer.js'
import type { NodeGraph, Related } from './node-graph.js'
import { type PolicyRule, ruleAllows } from './rbac-rules.js'
import type { RuleResolver } from './rule-resolver.js'

const leaseNamespace = 'kube-node-lease'

/** Not a deny: another authorizer may still allow it. */
const refused = (reason: string): Decision => ({ decision: 'no opinion', reason })

type Judge = (node: string, attributes: Attributes) => Decision

const judgesOver = (graph: NodeGraph): Readonly<Record<string, Judge>> => {
  const ofRelated =
    (resource: Related): Judge =>
    (node, { namespace, name }) =>
      graph.isRelated(node, resource, namespace, name)
        ? allowed
        : refused(`no relationship found between node '${node}' and this object`)

  const ofNamed = (resource: Related): Judge => {
    const related = ofRelated(resource)
    return (node, a) => (a.name === '' ? refused('No Object name found') : related(node, a))
  }

  const get = (resource: Related): Judge => {
    const named = ofNamed(resource)
    return (node, a) => {
      if (a.verb !== 'get') return refused('can only get individual resources of this type')
      return a.subresource === '' ? named(node, a) : refused('cannot get subresource')
    }
  }

  const read = (resource: Related): Judge => {
    const named = ofNamed(resource)
    return (node, a) => {
      if (!readVerbs.includes(a.verb)) return refused('can only read resources of this type')
      if (a.subresource !== '') return refused('cannot read subresource')
      return a.namespace === ''
        ? refused('can only read namespaced object of this type')
        : named(node, a)
    }
  }

  const claims = get('persistentvolumeclaims')
  const claimsStatus = ofNamed('persistentvolumeclaims')
  const accounts = read('serviceaccounts')
  const accountTokens = ofRelated('serviceaccounts')
  const slices = ofNamed('resourceslices')
  const pods = ofNamed('pods')

  return {
    '/secrets': read('secrets'),
    '/configmaps': read('configmaps'),
    '/persistentvolumes': get('persistentvolumes'),
    'resource.k8s.io/resourceclaims': get('resourceclaims'),
    'storage.k8s.io/volumeattachments': get('volumeattachments'),
    '/persistentvolumeclaims': (node, a) => {
      if (a.subresource !== 'status') return claims(node, a)
      return a.verb === 'update' || a.verb === 'patch'
        ? claimsStatus(node, a)
        : refused('can only get/update/patch this type')
    },
    '/serviceaccounts': (node, a) => {
      if (a.verb === 'get' && a.subresource === '') return accounts(node, a)
      if (a.verb !== 'create' || a.name === '')
        return refused('can only create tokens for individual service accounts')
      return a.subresource === 'token'
        ? accountTokens(node, a)
        : refused('can only create token subresource of serviceaccount')
    },
    'resource.k8s.io/resourceslices': (node, a) => {
      if (a.subresource !== '') return refused('cannot authorize ResourceSlice subresources')
      if (a.verb === 'create') return allowed
      if (['get', 'update', 'patch', 'delete'].includes(a.verb)) return slices(node, a)
      if (!['watch', 'list', 'deletecollection'].includes(a.verb))
        return refused(
          'only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection',
        )
      return selectsNode(a, node)
        ? allowed
        : refused(
            'can only list/watch/deletecollection resourceslices with nodeName field selector',
          )
    },
    '/pods': (node, a) => {
      const listed = a.verb === 'list' || a.verb === 'watch'
      if (a.subresource !== '' || !(listed || a.verb === 'get')) return podWrites(a)
      if (a.verb === 'get' || (a.name !== '' && !selectsNode(a, node))) return pods(node, a)
      return selectsNode(a, node)
        ? allowed
        : refused('can only list/watch pods with spec.nodeName field selector')
    },
    '/nodes': judgeNodes,
    'coordination.k8s.io/leases': judgeLeases,
    'storage.k8s.io/csinodes': judgeCsiNodes,
    // Pod certificates are off by default.
    'certificates.k8s.io/podcertificaterequests': () => noOpinion,
  }
}

const readVerbs = ['get', 'list', 'watch']
const ownVerbs = ['get', 'create', 'update', 'patch', 'delete']

const selectsNode = ({ fieldSelector = [] }: Attributes, node: string): boolean =>
  fieldSelector.some(
    ({ field, operator, value }) => field === 'spec.nodeName' && operator === '=' && value === node,
  )

const isAnyOf = (wanted: readonly string[], { verb, subresource }: Attributes): boolean =>
  wanted.includes(subresource === '' ? verb : `${verb} ${subresource}`)

/** Mirror Pods and statuses of Pods. NodeRestriction checks that the Pods are on the node. */
const podWrites = (a: Attributes): Decision =>
  isAnyOf(['create', 'delete', 'update status', 'patch status', 'create eviction'], a)
    ? allowed
    : noOpinion

const judgeNodes: Judge = (node, a) => {
  if (isAnyOf(['create', 'update', 'patch', 'update status', 'patch status'], a)) return allowed
  if (!isAnyOf(readVerbs, a)) return noOpinion
  if (a.name === node) return allowed
  return refused(
    a.name === ''
      ? `node '${node}' cannot read all nodes, only its own Node object`
      : `node '${node}' cannot read '${a.name}', only its own Node object`,
  )
}

/** The name of a created object is not known yet. */
const isOwn = (node: string, { verb, name }: Attributes): boolean =>
  verb === 'create' || name === node

const judgeLeases: Judge = (node, a) => {
  if (!ownVerbs.includes(a.verb))
    return refused('can only get, create, update, patch, or delete a node lease')
  if (a.namespace !== leaseNamespace)
    return refused(`can only access leases in the ${goQuote(leaseNamespace)} system namespace`)
  return isOwn(node, a)
    ? allowed
    : refused('can only access node lease with the same name as the requesting node')
}

const judgeCsiNodes: Judge = (node, a) => {
  if (!ownVerbs.includes(a.verb))
    return refused('can only get, create, update, patch, or delete a CSINode')
  if (a.subresource !== '') return refused('cannot authorize CSINode subresources')
  return isOwn(node, a)
    ? allowed
    : refused('can only access CSINode with the same name as the requesting node')
}

/** `rules`: those of all nodes. */
export const nodeAuthorizer = (
  graph: NodeGraph,
  rules: () => readonly PolicyRule[],
): Authorizer & RuleResolver => {
  const judges = judgesOver(graph)
  return {
    authorize: (a) => {
      const node = nodeIdentity(a.user)
      if (node === undefined) return noOpinion
      if (node === '') return refused(`unknown node for user ${goQuote(a.user.name)}`)
      const resource = `${a.apiGroup}/${a.resource}`
      const judge = a.isResourceRequest && Object.hasOwn(judges, resource) && judges[resource]
      if (judge) return judge(node, a)
      return rules().some((rule) => ruleAllows(a, rule)) ? allowed : noOpinion
    },
    rulesFor: (user) =>
      nodeIdentity(user) === undefined
        ? { rules: [], errors: [] }
        : {
            rules: [],
            errors: [new Error('node authorizer does not support user rule resolution')],
            isIncomplete: true,
          },
  }
}
