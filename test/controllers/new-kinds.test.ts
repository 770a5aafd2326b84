/** Kinds that come while the garbage collector asks which there are. */
import t from 'tap'
import type { PersistedObject } from '#api/object.js'
import { whenAborted } from '#async/sleep.js'
import type { Client, RawRequest, WatchOptions } from '#client/client.js'
import type { ResourceRef } from '#client/resources.js'
import { eventually } from '../eventually.js'
import { definitionOf, definitions, versionOf } from '../server/definition-body.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'

/** It looks by itself twice a minute. */
const byItselfMs = 20_000

t.test('a definition that comes while the server answers is asked for again at once', async (t) => {
  const shown = new Set<string | undefined>()
  const answer = new AbortController()
  let asked = 0
  let isHeld = false
  const own = (client: Client) => ({
    async request(request: RawRequest) {
      const answered = await client.request(request)
      if (request.path !== '/apis') return answered
      asked++
      if (isHeld) await whenAborted(answer.signal)
      return answered
    },
    async *watch(of: ResourceRef, options: WatchOptions) {
      for await (const event of client.watch(of, options)) {
        yield event
        if (of.resource === definitions.resource) shown.add(event.object.metadata.resourceVersion)
      }
    },
  })
  const client = await startControllers(t, ['garbage-collector-controller'], own)
  const make = async (group: string, plural: string, kind: string) => {
    const versions = [versionOf('v1', { type: 'object' })]
    const definition = definitionOf({
      group,
      scope: 'Namespaced',
      names: { plural, kind },
      versions,
    })
    await client.create(definitions, definition)
    const { name } = definition.metadata
    await until(async () => {
      const { status, metadata } = await client.get<PersistedObject>(definitions, { name })
      const conditions: { type: string; status: string }[] = status?.conditions ?? []
      return (
        conditions.some((one) => one.type === 'Established' && one.status === 'True') &&
        shown.has(metadata.resourceVersion)
      )
    })
  }
  await until(async () => asked > 0)
  const before = asked
  isHeld = true
  await make('one.example.com', 'ones', 'One')
  await until(async () => asked > before)
  await make('two.example.com', 'twos', 'Two')
  const held = asked
  answer.abort()
  await eventually('it is asked again', () => asked > held, byItselfMs)
  t.pass()
})
