/** Deletes bootstrap tokens whose time is over; upstream's token-cleaner-controller. */
import { resources } from '#client/resources.js'
import {
  type Controller,
  enqueueOwn,
  newQueue,
  queueRun,
  runBeside,
  syncStored,
} from '../controller.js'
import { deleteAsSeen } from '../delete-object.js'
import { timeLeft, tokenSecretInformer } from './token-secret.js'

export const tokenCleanerController: Controller = {
  name: 'token-cleaner-controller',
  serviceAccount: 'token-cleaner',
  isOffByDefault: true,
  start(context) {
    const { client, clock } = context
    const secrets = tokenSecretInformer(context)
    const queue = newQueue(context, 'token_cleaner')
    enqueueOwn(secrets, queue)
    const run = queueRun(
      context,
      queue,
      syncStored(secrets, async (secret) => {
        const left = timeLeft(secret, clock.now())
        if (left === Number.POSITIVE_INFINITY) return undefined
        if (left > 0) return { afterMs: left }
        // Its end may just have been put off: only this very state may be deleted.
        await deleteAsSeen(client, resources.secrets, secret)
        return undefined
      }),
    )
    return runBeside([secrets], run)
  },
}
