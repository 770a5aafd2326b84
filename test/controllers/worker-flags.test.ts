/** Flags that say how many keys a controller works on at once, how much is mirrored, and for how long changes are gathered. */
import { generateKeyPairSync } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { NamespacedObject } from '#api/object.js'
import { resources } from '#client/resources.js'
import type { EndpointSlice } from '#controllers/endpointslice/reconcile.js'
import { flagTable, settingsFrom } from '#controllers/flags.js'
import { parseFlags } from '#program/flags.js'
import { until } from './cluster.js'
import { manage, startBeside } from './in-process.js'

const namespace = 'default'
const settingsOf = (...args: string[]) => settingsFrom(parseFlags(args, flagTable))

t.test('as many keys are worked on at once as the flag says', async (t) => {
  const serviceAccountKey = generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString()
  const annotation = 'kubernetes.io/service-account.name'
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  for (const atOnce of [1, 3]) {
    const client = await startBeside(t, async () => {})
    for (const name of names) {
      const metadata = { name, namespace }
      await client.create(resources.serviceAccounts, { metadata })
      await client.create(resources.secrets, {
        metadata: { ...metadata, annotations: { [annotation]: name } },
        type: 'kubernetes.io/service-account-token',
      })
    }
    let [now, most, written] = [0, 0, 0]
    // Held until as many are here as may be; one more would come in the time after that.
    let fill = (): void => {}
    const full = new Promise<void>((resolve) => {
      fill = resolve
    })
    const update = async (...args: Parameters<typeof client.update>) => {
      most = Math.max(most, ++now)
      if (now === atOnce) fill()
      await full
      await sleep(50)
      now--
      written++
      return client.update(...args)
    }
    const slow = new Proxy(client, {
      get(target, key) {
        if (key === 'update') return update
        const value: unknown = Reflect.get(target, key, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const { workers } = settingsOf(`--concurrent-serviceaccount-token-syncs=${atOnce}`)
    const controllers = ['serviceaccount-token-controller']
    manage(t, slow, { controllers, settings: { workers, serviceAccountKey } })
    await until(() => written >= names.length)
    t.equal(most, atOnce)
  }
  t.throws(() => settingsOf('--concurrent-gc-syncs=0'), /must be greater than 0/)
})

t.test(
  'changes are gathered, and of many addresses some are mirrored, as the flags say',
  async (t) => {
    const client = await startBeside(t, async () => {})
    const { batchMs, mirroredPerSubsetMax } = settingsOf(
      '--endpointslice-updates-batch-period=1h',
      '--mirroring-max-endpoints-per-subset=2',
    )
    const controllers = [
      'endpointslice-controller',
      'endpoints-controller',
      'endpointslice-mirroring-controller',
    ]
    manage(t, client, { controllers, settings: { batchMs, mirroredPerSubsetMax } })
    const ports = [{ port: 80 }]
    const service = (name: string, selector?: Record<string, string>) =>
      client.create(resources.services, {
        metadata: { name, namespace },
        spec: { selector, ports },
      })
    await service('selected', { a: 'b' })
    await service('mirrored')
    const addresses = ['10.0.0.1', '10.0.0.2', '10.0.0.3'].map((ip) => ({ ip }))
    await client.create(resources.endpoints, {
      metadata: { name: 'mirrored', namespace },
      subsets: [{ addresses, ports }],
    })
    const slices = async () =>
      (await client.list<EndpointSlice>(resources.endpointSlices, { namespace })).items.filter(
        ({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] !== 'kubernetes',
      )
    await until(async () => (await slices()).length > 0)
    const at = { name: 'selected', namespace }
    await until(() => client.get<NamespacedObject>(resources.endpoints, at).catch(() => undefined))
    t.same(
      (await slices()).map(({ metadata, endpoints }) => [metadata.generateName, endpoints!.length]),
      [['mirrored-', 2]],
    )
  },
)
