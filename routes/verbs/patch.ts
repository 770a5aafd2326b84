/** PATCH: four types of patches, one way to store the result (apiserver, handlers/patch.go). */
import type { FastifyRequest } from 'fastify'
import { bareType, bareTypes, noRouteForType } from '#api/accept.js'
import { notFound, unsupportedMediaType } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { getOwn } from '#json/object.js'
import { textOf } from '#json/utf8.js'
import { negotiateOutput } from '../answers/negotiation.js'
import { sendShown } from '../answers/respond.js'
import type { Target, VerbHandler } from '../api-deps.js'
import { fieldValidationOf } from '../decode-body.js'
import { checkIdentity } from '../identity.js'
import { applyType, bodyOf } from '../request-body.js'
import { makeContext } from '../request-context.js'
import { patchOptionsOf } from '../write-options.js'
import { applyChange } from './apply.js'
import type { PatchType } from './check-patch.js'
import { type Patch, parsePatch } from './patch-body.js'
import { type PatchCall, patched } from './patched.js'
import { hasTable, hooksOfView, ownersOfView, throughView, type ViewOwners } from './view.js'

const patchTypes: Readonly<Record<string, PatchType>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  [applyType]: 'apply',
}
const namesOfTypes = Object.keys(patchTypes)

const typeCalled = (name: string): PatchType | undefined => getOwn(patchTypes, name)

/** Whether go-restful finds a route for the type: it takes a list of types when it knows one of them. */
export const hasPatchRoute = ({ bodyType }: FastifyRequest): boolean =>
  bareTypes(bodyType).some((type) => typeCalled(type) !== undefined)

/** Throws 415. Built-in routes refuse a type that no route knows in go-restful's words; the rest is apiserver's. */
export const patchTypeOf = (request: FastifyRequest, { definition }: Target): PatchType => {
  const found = typeCalled(bareType(request.bodyType))
  if (definition.isCustom) {
    const accepted = namesOfTypes.filter((name) => patchTypes[name] !== 'strategic')
    if (found === undefined || found === 'strategic') throw unsupportedMediaType(accepted)
    return found
  }
  if (found !== undefined) return found
  if (!hasPatchRoute(request)) throw noRouteForType()
  throw unsupportedMediaType(namesOfTypes)
}

const changeOf = (call: PatchCall, owners: ViewOwners | undefined) => {
  const { target, ctx } = call
  const { definition, name } = target
  if (owners !== undefined) {
    const next = (shown: KubeObject): KubeObject => {
      const changed = patched(call, shown)
      checkIdentity(changed, target)
      return changed
    }
    return throughView(target, owners, ctx, next)
  }
  return (current: KubeObject | undefined): KubeObject => {
    if (current === undefined) throw notFound(definition.gvr, name)
    const next = patched(call, definition.convert?.fromStorage(current) ?? current)
    checkIdentity(next, target)
    return definition.convert?.toStorage(next) ?? next
  }
}

export const patchObject: VerbHandler = async (target, request, reply, deps) => {
  const type = patchTypeOf(request, target)
  const { definition, store, view } = target
  const negotiated = negotiateOutput(request, definition, { table: hasTable(target) })
  const isApply = type === 'apply'
  const options = patchOptionsOf(request, isApply)
  request.kube.audit?.patched(textOf(bodyOf(request)))
  const ctx = makeContext(target, request, reply, deps, options)
  let parsed: Patch | undefined
  const call: PatchCall = {
    target,
    ctx,
    patch: () => {
      parsed ??= parsePatch(type, request, fieldValidationOf(options.fieldValidation))
      return parsed
    },
    options,
    table: deps.table,
  }
  const owners = ownersOfView(target, ctx, deps, isApply)
  const { stored, created } = await store.update(
    ctx,
    target.name,
    isApply ? applyChange(call, deps, owners) : changeOf(call, owners),
    {
      forceAllowCreate: isApply && target.subresource === '',
      managedFieldsTracked: isApply || owners !== undefined,
      authorizeCreate: () => deps.authorizeCreate(request),
      ...hooksOfView(view),
    },
  )
  const code = created ? 201 : 200
  return sendShown(target, request, reply, stored, { code, negotiated })
}
