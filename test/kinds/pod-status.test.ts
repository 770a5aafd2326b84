/** What kubelets and schedulers may say of a Pod, with what kube-apiserver v1.36 answered to each update. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import type { StatusCause } from '#api/status.js'
import { readRecorded } from '../recorded.js'
import { startApiInMemory } from './api-in-memory.js'

interface Recorded {
  name: string
  base: KubeObject
  /** One after the other: fields of the status that are replaced, and what is stored then or why not. */
  updates: { status: object; stored?: object; causes?: string[] }[]
}

const recorded = readRecorded<Recorded[]>('kinds/pod-status')
const gvr = 'v1/pods'

t.test('a status is kept or refused as upstream does', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  for (const { name, base, updates } of recorded) {
    const created = await api.create(gvr, base, { namespace: 'default' })
    t.equal(created.code, 201, created.body.message)
    for (const { status, stored, causes } of updates) {
      const answer = await api.replace(
        gvr,
        base.metadata.name!,
        (object) => {
          object.status = { ...object.status, ...structuredClone(status) }
        },
        { namespace: 'default', subresource: 'status' },
      )
      const what = `${name}: ${JSON.stringify(status)}`
      if (stored) t.same(answer.body.status, stored, what)
      else {
        const found = (answer.body.details?.causes ?? []) as StatusCause[]
        t.same(
          found.map((cause) => `${cause.field}: ${cause.message}`),
          causes,
          what,
        )
      }
    }
    await api.delete(gvr, base.metadata.name!, { namespace: 'default' })
  }
})
