/** An object whose end a write was told of, while the watch still has to tell of what came before it. */
import t from 'tap'
import type { PersistedObject } from '#api/object.js'
import { whenAborted } from '#async/sleep.js'
import type { Client, WatchOptions } from '#client/client.js'
import { Informer } from '#client/informer.js'
import { silentLog } from '#client/log.js'
import { resources } from '#client/resources.js'
import { eventually } from '../eventually.js'

const object = (resourceVersion: string) =>
  ({ metadata: { name: 'a', namespace: 'ns', uid: 'u', resourceVersion } }) as PersistedObject

t.test(
  'it does not come back by what was written to it before, but when it is restored',
  async (t) => {
    let goOn = (): void => {}
    const known = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const client = {
      list: async () => ({ metadata: { resourceVersion: '10' }, items: [object('10')] }),
      async *watch(_: unknown, { onOpen, signal }: WatchOptions) {
        onOpen?.()
        await known
        yield { type: 'MODIFIED', object: object('12') }
        yield { type: 'DELETED', object: object('14') }
        yield { type: 'ADDED', object: object('20') }
        yield { type: 'MODIFIED', object: object('22') }
        await whenAborted(signal)
      },
    } as unknown as Client
    const informer = new Informer({ client, ref: resources.pods, log: silentLog })
    const told: string[] = []
    const tell = (what: string) => (one: PersistedObject) => {
      told.push(`${what} ${one.metadata.resourceVersion}`)
    }
    informer.handle({ onAdd: tell('add'), onUpdate: tell('update'), onDelete: tell('delete') })
    const stop = new AbortController()
    const running = informer.run(stop.signal)
    await informer.synced()
    // As for a DELETE that is answered with 404.
    informer.observeGone(object('10'))
    goOn()
    await eventually('its newest state', () => told.includes('update 22'))
    t.same(told, ['add 10', 'delete 10', 'add 20', 'update 22'])
    stop.abort()
    await running
  },
)
