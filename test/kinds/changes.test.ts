/** Changes of one field of a rich object of every kind, with what kube-apiserver v1.36 answered to each of them. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import type { StatusCause } from '#api/status.js'
import { readRecorded } from '../recorded.js'
import { startApiInMemory } from './api-in-memory.js'

interface Change {
  /** Of the status, through its subresource, instead of the spec. */
  status?: true
  path: string
  /** Missing: the field is removed. */
  value?: unknown
  causes?: string[]
  warnings?: string[]
}
interface Recorded {
  gvr: string
  namespace?: string
  base: KubeObject
  status?: object
  changes: Change[]
}

const recorded = readRecorded<Recorded[]>('kinds/changes')

// biome-ignore lint/suspicious/noExplicitAny: objects of every kind
const setAt = (object: any, { path: where, value }: Change): void => {
  const keys = where.split('/')
  const last = keys.pop()!
  const parent = keys.reduce((at, key) => at[key], object)
  if (value !== undefined) parent[last] = value
  else if (Array.isArray(parent)) parent.splice(Number(last), 1)
  else delete parent[last]
}

t.test('an update is refused for the same causes in the same words as upstream', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  for (const { gvr, namespace, base, status, changes } of recorded) {
    const name = base.metadata.name!
    const created = await api.create(gvr, base, { namespace })
    t.equal(created.code, 201, `${gvr}: ${created.body.message}`)
    for (const change of changes) {
      const call = { namespace, dryRun: true, subresource: change.status ? 'status' : '' }
      const answer = await api.replace(
        gvr,
        name,
        (object) => {
          if (change.status) object.status = structuredClone(status)
          setAt(object, change)
        },
        call,
      )
      const causes = ((answer.body.details?.causes ?? []) as StatusCause[]).map(
        (cause) => `${cause.field}: ${cause.message}`,
      )
      t.same(
        { causes, warnings: answer.warnings },
        { causes: change.causes ?? [], warnings: change.warnings ?? [] },
        `${gvr} ${change.path} = ${JSON.stringify(change.value)}`,
      )
    }
    await api.delete(gvr, name, { namespace })
  }
})

t.test('a gated Pod: an empty node selector is told as it was given', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  const spec = { containers: [{ name: 'c', image: 'i' }], schedulingGates: [{ name: 'a.b/c' }] }
  await api.create('v1/pods', { metadata: { name: 'gated' }, spec } as never, { namespace: 'x' })
  const change = (pod: KubeObject) => {
    pod.spec.nodeSelector = {}
    pod.spec.hostname = 'h'
  }
  const { body } = await api.replace('v1/pods', 'gated', change, { namespace: 'x', dryRun: true })
  t.match(body.message, '\n- "NodeSelector": null,\n+ "NodeSelector": {},\n')
})
