/** Deletes Jobs some time after they finished; upstream's ttl-after-finished-controller. */
import { parseTime } from '#api/clock.js'
import { keyOf } from '#client/object-store.js'
import { resources } from '#client/resources.js'
import { type Controller, newQueue, queueRun, syncStored } from '../controller.js'
import { deleteAsSeen } from '../delete-object.js'
import { conditionIn, isFinished, type Job } from '../job/job.js'

/** Milliseconds since the epoch; undefined while the Job runs or keeps no time. */
const expiryOf = (job: Job): number | undefined => {
  const seconds = job.spec.ttlSecondsAfterFinished
  if (seconds === undefined || !isFinished(job)) return undefined
  const finished = conditionIn(job, 'Complete') ?? conditionIn(job, 'Failed')
  // Who manages a Job in our place may write no time.
  if (!finished?.lastTransitionTime) return undefined
  return parseTime(finished.lastTransitionTime) + seconds * 1000
}

export const ttlAfterFinishedController: Controller = {
  name: 'ttl-after-finished-controller',
  start(context) {
    const { informers, client, clock } = context
    const jobs = informers.for<Job>(resources.jobs)
    const queue = newQueue(context, 'ttl_jobs_to_delete')
    const look = (job: Job): void => {
      if (expiryOf(job) !== undefined && job.metadata.deletionTimestamp === undefined)
        queue.add(keyOf(job))
    }
    jobs.handle({ onAdd: look, onUpdate: look })
    return queueRun(
      context,
      queue,
      syncStored(jobs, async (job) => {
        const expiry = expiryOf(job)
        if (expiry === undefined) return undefined
        const left = expiry - clock.now()
        if (left > 0) return { afterMs: left }
        // The time to live may just have been raised: only this very state may be deleted.
        await deleteAsSeen(client, resources.jobs, job, { propagationPolicy: 'Foreground' })
        return undefined
      }),
    )
  },
}
