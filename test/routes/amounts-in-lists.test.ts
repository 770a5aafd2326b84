/** Who owns a list that holds a quantity which is written again in other words (answers of kube-apiserver v1.36). */
import t from 'tap'
import { startApiServer } from './api-server.js'

const managersOf = (body: { metadata: { managedFields?: { manager: string }[] } }): string[] =>
  (body.metadata.managedFields ?? []).map(({ manager }) => manager)

t.test('a list that is owned as a whole changes with the digits of a quantity in it', async (t) => {
  const { api } = await startApiServer(t)
  const ranges = '/api/v1/namespaces/x/limitranges'
  /** Who owns the list after it was written twice, by one and by another. */
  const ownersAfter = async (name: string, first: string, again: string): Promise<string[]> => {
    const body = (memory: string) => ({
      metadata: { name },
      spec: { limits: [{ type: 'example.com/x', max: { memory } }] },
    })
    await api.send('POST', `${ranges}?fieldManager=one`, { body: body(first) })
    const url = `${ranges}/${name}?fieldManager=two`
    return managersOf((await api.send('PUT', url, { body: body(again) })).body)
  }
  t.same(await ownersAfter('same', '500m', '500m'), ['one'])
  t.same(await ownersAfter('fraction', '500m', '0.5'), ['two'])
  t.same(await ownersAfter('again', '0.5', '0.5'), ['two'], 'storage has the canonical text')
  t.same(await ownersAfter('binary', '1Mi', '1024Ki'), ['two'])
  t.same(await ownersAfter('shifted', '8Gi', '8192Mi'), ['one'], 'no digit is another')
  t.same(await ownersAfter('number', '1', '01'), ['two'])
})

t.test('a quantity on its own is compared as text', async (t) => {
  const { api } = await startApiServer(t)
  const pods = '/api/v1/namespaces/x/pods'
  const body = (cpu: string) => ({
    metadata: { name: 'a' },
    spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu } } }] },
  })
  await api.send('POST', `${pods}?fieldManager=one`, { body: body('0.5') })
  const { body: after } = await api.send('PUT', `${pods}/a?fieldManager=two`, {
    body: body('0.50'),
  })
  t.same(managersOf(after), ['one'])
})
