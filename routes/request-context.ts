/** Makes the registry's RequestContext from a Fastify request. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Kept } from '#collections/kept.js'
import { unprintable } from '#go/quote.js'
import { limits } from '#limits'
import type { RequestContext, ResourceDefinition } from '#registry/resource-definition.js'
import type { WriteOptions } from '#registry/validate-options.js'
import { hasRouteFor } from './answers/negotiation.js'
import type { ApiDeps, Target } from './api-deps.js'
import { warner } from './warnings.js'

/** The part before the first slash, without what cannot be printed (upstream's prefixFromUserAgent). */
const managerOfUserAgent = (userAgent: string): string => {
  // Node makes a character of each byte of a header; Go reads them as UTF-8.
  const first = Buffer.from(userAgent, 'latin1').toString().split('/')[0] ?? ''
  let manager = ''
  for (const char of first) {
    if (unprintable.test(char)) continue
    if (Buffer.byteLength(manager + char) > limits.fieldManagerLengthMax) break
    manager += char
  }
  return manager
}

const managers = new Kept<string>(limits.headerMeaningsKept)

/**
 * A deprecated version warns in every answer of a handler, errors included, so this comes before the request is read. A
 * custom resource warns in every answer at all.
 */
export const warnOfDeprecation = (
  { deprecationWarning, isCustom }: ResourceDefinition,
  { headers, kube }: FastifyRequest,
  reply: FastifyReply,
  collection: boolean,
): void => {
  if (deprecationWarning === undefined || !(isCustom || hasRouteFor(headers.accept, collection)))
    return
  warner(reply)(deprecationWarning)
  kube.audit?.annotateAtEnd('k8s.io/deprecated', 'true')
}

export const makeContext = (
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ApiDeps,
  options: Partial<Omit<WriteOptions, 'force'>> = {},
): RequestContext => {
  const { kube } = request
  const warn = warner(reply)
  // No getters here: V8 gives such a literal a hidden class of its own each time, which keeps the request from the young
  // generation's collector.
  return {
    user: kube.user,
    verb: kube.info.verb,
    namespace: target.namespace,
    subresource: target.subresource,
    dryRun: (options.dryRun ?? []).length > 0,
    now: kube.now,
    caller: kube,
    warn,
    audit: kube.audit,
    userAgent: managers.of(request.headers['user-agent'] ?? '', managerOfUserAgent),
    fieldManager: options.fieldManager ?? '',
    fieldValidation: options.fieldValidation ?? '',
    kind: target.view?.kind,
    stores: (resource) => deps.stores.ofResource(resource),
  }
}
