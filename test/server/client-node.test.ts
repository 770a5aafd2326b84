/** The JavaScript client of Kubernetes, as an operator in Node uses it, with nothing but a kubeconfig. */
import { createRequire } from 'node:module'
import type {
  KubeConfig as Config,
  PatchStrategy as Strategy,
  V1ConfigMap,
} from '@kubernetes/client-node'
import t, { type Test } from 'tap'
import { eventually } from '../eventually.js'
import { startServer } from './start-server.js'

// The client's HTTP library takes three functions of Node 22 for granted.
const require = createRequire(import.meta.url)
require('node:zlib').createZstdDecompress ??= () => {
  throw new Error('this Node has no zstd')
}
require('node:worker_threads').markAsUncloneable ??= () => {}
;(Promise as { withResolvers?: unknown }).withResolvers ??= () => {
  const made: { promise?: Promise<unknown>; resolve?: unknown; reject?: unknown } = {}
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }))
  return made
}
const {
  ApiException,
  ApiextensionsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  VersionApi,
  Watch,
} = await import('@kubernetes/client-node')

const namespace = 'default'
const start = async (t: Test): Promise<Config> => {
  const server = await startServer(t)
  const config = new KubeConfig()
  config.loadFromString(server.kubeconfig)
  return config
}
const configMap = (name: string, data: Record<string, string>): V1ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data,
})

t.test('typed calls: create, read, replace, three kinds of patch, list, delete', async (t) => {
  const config = await start(t)
  const core = config.makeApiClient(CoreV1Api)
  t.match(await config.makeApiClient(VersionApi).getCode(), { major: '1', minor: '36' })
  const made = await core.createNamespacedConfigMap({ namespace, body: configMap('a', { k: '1' }) })
  t.ok(made.metadata?.creationTimestamp instanceof Date)
  const name = 'a'
  made.data = { k: '2' }
  const replaced = await core.replaceNamespacedConfigMap({ name, namespace, body: made })
  const conflict = core.replaceNamespacedConfigMap({ name, namespace, body: made })
  await t.rejects(conflict, { code: 409 })
  t.not(replaced.metadata?.resourceVersion, made.metadata?.resourceVersion)
  const patches: [Strategy, object][] = [
    [PatchStrategy.JsonPatch, [{ op: 'add', path: '/data/json', value: 'x' }]],
    [PatchStrategy.MergePatch, { data: { merge: 'x' } }],
    [PatchStrategy.StrategicMergePatch, { data: { strategic: 'x' } }],
  ]
  for (const [strategy, body] of patches)
    await core.patchNamespacedConfigMap(
      { name, namespace, body },
      setHeaderOptions('Content-Type', strategy),
    )
  const { items } = await core.listNamespacedConfigMap({
    namespace,
    fieldSelector: 'metadata.name=a',
  })
  t.same(items[0]?.data, { json: 'x', k: '2', merge: 'x', strategic: 'x' })
  t.match(await core.deleteNamespacedConfigMap({ name, namespace }), { status: 'Success' })
  const gone = await core.readNamespacedConfigMap({ name, namespace }).catch((error) => error)
  t.ok(gone instanceof ApiException)
  t.match(JSON.parse(gone.body), { reason: 'NotFound', message: 'configmaps "a" not found' })
})

t.test('generic objects: apply with a field manager, custom resources', async (t) => {
  const config = await start(t)
  const objects = KubernetesObjectApi.makeApiClient(config)
  const apply = (data: Record<string, string>, manager: string) =>
    objects.patch(
      configMap('applied', data),
      undefined,
      undefined,
      manager,
      undefined,
      PatchStrategy.ServerSideApply,
    )
  await apply({ k: '1' }, 'one')
  await t.rejects(apply({ k: '2' }, 'two'), { code: 409 })
  const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' }
  const group = 'clients.example.com'
  const schema = {
    openAPIV3Schema: { type: 'object', properties: { size: { type: 'integer' } } },
  }
  await config.makeApiClient(ApiextensionsV1Api).createCustomResourceDefinition({
    body: {
      metadata: { name: `widgets.${group}` },
      spec: {
        group,
        names,
        scope: 'Namespaced',
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    },
  })
  const custom = config.makeApiClient(CustomObjectsApi)
  const place = { group, version: 'v1', namespace, plural: 'widgets' }
  const list = () => custom.listNamespacedCustomObject(place).catch(() => undefined)
  await eventually('the new kind', list)
  const body = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'w' }, size: 3 }
  await custom.createNamespacedCustomObject({ ...place, body })
  t.match(await list(), { kind: 'WidgetList', items: [{ metadata: { name: 'w' }, size: 3 }] })
})

t.test('a watch and an informer see what happens', async (t) => {
  const config = await start(t)
  const core = config.makeApiClient(CoreV1Api)
  const path = `/api/v1/namespaces/${namespace}/configmaps`
  const watched: string[] = []
  const watch = await new Watch(config).watch(
    path,
    { labelSelector: 'app=x' },
    (type, object) => watched.push(`${type} ${object.metadata.name}`),
    () => {},
  )
  const informer = makeInformer(config, path, () => core.listNamespacedConfigMap({ namespace }))
  const informed: string[] = []
  for (const verb of ['add', 'update', 'delete'] as const)
    informer.on(verb, ({ metadata }) => informed.push(`${verb} ${metadata?.name}`))
  await informer.start()
  const body = configMap('seen', { k: '1' })
  body.metadata!.labels = { app: 'x' }
  await core.createNamespacedConfigMap({ namespace, body })
  await eventually('the informer to have it', () => informer.get('seen', namespace))
  await core.patchNamespacedConfigMap(
    { name: 'seen', namespace, body: { data: { k: '2' } } },
    setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
  )
  await core.deleteNamespacedConfigMap({ name: 'seen', namespace })
  await eventually('all of it', () => watched.length === 3 && informed.length >= 3)
  t.same(watched, ['ADDED seen', 'MODIFIED seen', 'DELETED seen'])
  t.same(
    informed.filter((line) => line.endsWith('seen')),
    ['add seen', 'update seen', 'delete seen'],
  )
  watch.abort()
  await informer.stop()
})
