/** What Go's regular expressions match and JavaScript's do not, or the other way round. */
import t from 'tap'
import { startApiInMemory } from './api-in-memory.js'

t.test('characters and spaces are those of Go', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  const podIsTaken = async (spec: object): Promise<boolean> => {
    const pod = {
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
    }
    return (await api.create('v1/pods', pod, { namespace: 'default', dryRun: true })).code === 201
  }
  const iscsi = (iqn: string) =>
    podIsTaken({ volumes: [{ name: 'v', iscsi: { targetPortal: 'a', iqn, lun: 1 } }] })
  t.ok(await iscsi('iqn.2020-01.a:b\u00a0c'))
  t.notOk(await iscsi('iqn.2020-01.a:b c'))
  t.ok(await iscsi('eui\u{1f600}0123456789abcdef'))
  t.notOk(await iscsi('eui\n0123456789abcdef'))
  const windows = (domain: string) =>
    podIsTaken({ securityContext: { windowsOptions: { runAsUserName: `${domain}\\u` } } })
  t.ok(await windows('\u{1f600}'.repeat(15)))
  t.notOk(await windows('\u{1f600}'.repeat(16)))
})

t.test('each part of the name of a feature of a node begins with a letter', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  const code = async (feature: string): Promise<number> => {
    const node = { metadata: { name: 'n' }, status: { declaredFeatures: [feature] } }
    return (await api.create('v1/nodes', node, { dryRun: true })).code
  }
  t.equal(await code('A/b2'), 201)
  t.equal(await code('A/2b'), 422)
})
