/**
 * Approves nodes' own requests, signs approved ones, deletes old ones; upstream's three certificatesigningrequest
 * controllers.
 */
import { formatTime } from '#api/clock.js'
import { signers } from '#api/signers.js'
import { isConflict, isNotFound, messageOf } from '#client/errors.js'
import { resources } from '#client/resources.js'
import { type Controller, type ControllerContext, newQueue, queueRun } from '../controller.js'
import { approvalOf } from './approve.js'
import { overSince } from './clean.js'
import { readRequest, type SigningRequest, signRequest } from './sign.js'
import { refusalOf } from './verify.js'

const ref = resources.certificateSigningRequests
const knownSigners = new Set<string>(Object.values(signers))

const has = (request: SigningRequest, type: string): boolean =>
  (request.status?.conditions ?? []).some((c) => c.type === type && c.status !== 'False')

const withCondition = (
  request: SigningRequest,
  now: number,
  condition: { type: string; reason: string; message: string },
) => {
  const time = formatTime(now)
  const { type, ...why } = condition
  const next = { type, status: 'True', ...why, lastUpdateTime: time, lastTransitionTime: time }
  return {
    ...request,
    status: { ...request.status, conditions: [...(request.status?.conditions ?? []), next] },
  }
}

const approve = async (context: ControllerContext, request: SigningRequest): Promise<void> => {
  if (request.status?.certificate || has(request, 'Approved') || has(request, 'Denied')) return
  const message = await approvalOf(context, request)
  if (message === undefined) return
  const approved = withCondition(request, context.clock.now(), {
    type: 'Approved',
    reason: 'AutoApproved',
    message,
  })
  await context.client.update(ref, approved, { subresource: 'approval' })
}

const sign = async (context: ControllerContext, request: SigningRequest): Promise<void> => {
  const { client, clock, settings } = context
  const { clusterSigningCert: cert, clusterSigningKey: key } = settings
  const { clusterSigningDurationMs: lifetimeMaxMs } = settings
  if (cert === undefined || key === undefined) return
  if (!knownSigners.has(request.spec.signerName) || request.status?.certificate) return
  if (!has(request, 'Approved') || has(request, 'Denied') || has(request, 'Failed')) return
  const { signerName, usages } = request.spec
  const refusal = refusalOf(signerName, readRequest(request), usages)
  if (refusal !== undefined) {
    const failed = withCondition(request, clock.now(), {
      type: 'Failed',
      reason: 'SignerValidationFailure',
      message: refusal,
    })
    await client.update(ref, failed, { subresource: 'status' })
    return
  }
  const certificate = signRequest(request, { cert, key, lifetimeMaxMs }, clock.now())
  const status = { ...request.status, certificate }
  await client.update(ref, { ...request, status }, { subresource: 'status' })
}

const controllerOf = (
  name: string,
  sync: (
    context: ControllerContext,
    request: SigningRequest,
  ) => Promise<{ afterMs: number } | undefined> | Promise<void>,
): Controller => ({
  name,
  serviceAccount: 'certificate-controller',
  start(context) {
    const requests = context.informers.for<SigningRequest>(ref)
    const queue = newQueue(context, 'certificate')
    requests.handle({
      onAdd: (request) => queue.add(request.metadata.name),
      onUpdate: (request) => queue.add(request.metadata.name),
    })
    return queueRun(context, queue, async (key) => {
      const request = requests.store.get(key)
      if (request === undefined) return undefined
      try {
        return (await sync(context, request)) ?? undefined
      } catch (error) {
        if (isNotFound(error)) return undefined
        if (!isConflict(error))
          context.log.info(
            { request: key, error: messageOf(error) },
            'a certificate request was not handled',
          )
        throw error
      }
    })
  },
})

export const certificateControllers: readonly Controller[] = [
  controllerOf('certificatesigningrequest-approving-controller', approve),
  controllerOf('certificatesigningrequest-signing-controller', sign),
  controllerOf('certificatesigningrequest-cleaner-controller', async (context, request) => {
    const left = overSince(request) - context.clock.now()
    if (left > 0) return Number.isFinite(left) ? { afterMs: left } : undefined
    await context.client.delete(
      ref,
      { name: request.metadata.name },
      { preconditions: { uid: request.metadata.uid } },
    )
    return undefined
  }),
]
