/** Controllers in the test's own process, one of whose watches falls behind when the test says so. */
import { whenAborted } from '#async/sleep.js'
import type { Client, WatchOptions } from '#client/client.js'
import type { ResourceRef } from '#client/resources.js'
import type { ServerOptions } from '#server/options.js'
import { startControllers } from './in-process.js'

/** Told of no change of `held` between `loseSight` and `seeAgain`. */
export const startSeeing = async (
  t: Parameters<typeof startControllers>[0],
  held: ResourceRef,
  controllers: string[],
  options?: ServerOptions,
) => {
  let listed = (): void => {}
  const isListed = new Promise<void>((resolve) => {
    listed = resolve
  })
  let sight: Promise<void> | undefined
  let seeAgain = (): void => {}
  /** What was read, by its resource. */
  const reads: string[] = []
  const own = (client: Client) => ({
    get(...args: Parameters<Client['get']>) {
      reads.push(args[0].resource)
      return client.get(...args)
    },
    async *watch(ref: ResourceRef, options: WatchOptions) {
      if (ref.resource === held.resource) listed()
      for await (const event of client.watch(ref, options)) {
        if (ref.resource === held.resource)
          await Promise.race([sight, sight && whenAborted(options.signal)])
        yield event
      }
    },
  })
  const client = await startControllers(t, controllers, own, options)
  await isListed
  const loseSight = (): void => {
    sight = new Promise((resolve) => {
      seeAgain = resolve
    })
  }
  return { client, loseSight, seeAgain: () => seeAgain(), reads }
}

export const startBlindTo = async (...args: Parameters<typeof startSeeing>): Promise<Client> => {
  const { client, loseSight } = await startSeeing(...args)
  loseSight()
  return client
}
