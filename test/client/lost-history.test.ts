/** A server that has lost data goes back in time: what its clients have seen since never was. */
import t from 'tap'
import { ApiError } from '#api/errors.js'
import type { PersistedObject } from '#api/object.js'
import { whenAborted } from '#async/sleep.js'
import type { Client, WatchOptions } from '#client/client.js'
import { Informer } from '#client/informer.js'
import { silentLog } from '#client/log.js'
import { resources } from '#client/resources.js'
import { eventually } from '../eventually.js'

const object = (resourceVersion: string) =>
  ({ metadata: { name: 'a', namespace: 'ns', uid: 'u', resourceVersion } }) as PersistedObject

t.test('an object whose deletion is lost is followed again', async (t) => {
  let lists = 0
  let watches = 0
  const client = {
    list: async () => ({
      metadata: { resourceVersion: ++lists === 1 ? '100' : '50' },
      items: [object('50')],
    }),
    async *watch(_: unknown, { onOpen, signal }: WatchOptions) {
      onOpen?.()
      if (++watches === 1) {
        yield { type: 'DELETED', object: object('1000') }
        const status = { kind: 'Status', status: 'Failure', code: 504, reason: 'Timeout' }
        throw new ApiError(status as ConstructorParameters<typeof ApiError>[0])
      }
      yield { type: 'MODIFIED', object: object('60') }
      await whenAborted(signal)
    },
  } as unknown as Client
  const informer = new Informer({ client, ref: resources.pods, log: silentLog, random: () => 0 })
  const stop = new AbortController()
  const running = informer.run(stop.signal)
  await eventually(
    'its newest state',
    () => informer.store.get('ns/a')?.metadata.resourceVersion === '60',
  ).catch((error) => t.fail(error.message))
  stop.abort()
  await running
})
