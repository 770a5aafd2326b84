/** Which versions options of a delete and events of a watch are kinds of, as kube-apiserver v1.36 lists them. */
import t from 'tap'
import { call, isServed, startServer } from './start-server.js'

const prefix = 'io.k8s.apimachinery.pkg.apis.meta.v1'

interface Kind {
  readonly group: string
  readonly kind: string
  readonly version: string
}

t.test('every version has options and events of its own', async (t) => {
  const server = await startServer(t, { storage: 'memory:' })
  const versionsOf = async (path: string, kind: string): Promise<string[]> => {
    const { body } = await call(server, { path })
    const schemas = body.definitions ?? body.components.schemas
    const known: Kind[] = schemas[`${prefix}.${kind}`]['x-kubernetes-group-version-kind']
    return known.map((one) => {
      t.equal(one.kind, kind)
      return `${one.group}/${one.version}`
    })
  }
  await call(server, {
    method: 'POST',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    body: {
      metadata: { name: 'things.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Cluster',
        names: { plural: 'things', kind: 'Thing' },
        versions: [
          {
            ...{ name: 'v1', served: true, storage: true },
            schema: { openAPIV3Schema: { type: 'object' } },
          },
        ],
      },
    },
  })
  await isServed(server, '/openapi/v3/apis/example.com/v1')
  for (const kind of ['DeleteOptions', 'WatchEvent']) {
    t.same(await versionsOf('/openapi/v3/api/v1', kind), ['/v1'])
    t.same(await versionsOf('/openapi/v3/apis/apps/v1', kind), ['/v1', 'apps/v1'])
    const all = await versionsOf('/openapi/v2', kind)
    t.equal(all.length, 60)
    t.same(all.slice(0, 3), ['/v1', 'admission.k8s.io/v1', 'admission.k8s.io/v1beta1'])
    t.equal(all.at(-1), 'storagemigration.k8s.io/v1beta1')
  }
  const custom = await versionsOf('/openapi/v3/apis/example.com/v1', 'DeleteOptions')
  t.equal(custom.length, 53)
  t.notOk(custom.includes('apiextensions.k8s.io/v1'))
})
