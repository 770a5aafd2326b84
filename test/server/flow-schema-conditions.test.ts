/** The condition Dangling of flow schemas, which the server itself keeps. */
import t from 'tap'
import { limits } from '#limits'
import { eventually } from '../eventually.js'
import { call, startServer } from './start-server.js'

const flow = '/apis/flowcontrol.apiserver.k8s.io/v1'
const producer = 'api-priority-and-fairness-config-producer-v1'
const consumer = 'api-priority-and-fairness-config-consumer-v1'

interface Owner {
  manager: string
  operation: string
  subresource?: string
}
const ownersOf = (object: { metadata: { managedFields: Owner[] } }): string[] =>
  object.metadata.managedFields.map(({ manager, operation, subresource = '' }) =>
    [manager, operation, subresource].join(' ').trim(),
  )

t.test("a server starts with upstream's schemas, owned as they are there", async (t) => {
  const server = await startServer(t)
  const { body: schema } = await call(server, { path: `${flow}/flowschemas/catch-all` })
  t.match(schema.status.conditions, [{ type: 'Dangling', status: 'False', reason: 'Found' }])
  t.same(ownersOf(schema), [`${consumer} Apply status`, `${producer} Update`])
  const { body: level } = await call(server, { path: `${flow}/prioritylevelconfigurations/exempt` })
  t.same(ownersOf(level), [`${producer} Update`])
})

t.test('the condition of a schema changes when its priority level comes or goes', async (t) => {
  const server = await startServer(t)
  const levels = `${flow}/prioritylevelconfigurations`
  const path = `${flow}/flowschemas/mine`
  const dangling = (reason: string) =>
    eventually(`a schema whose level is ${reason}`, async () => {
      const [condition] = (await call(server, { path })).body.status.conditions ?? []
      return condition?.reason === reason && condition
    })
  const spec = { priorityLevelConfiguration: { name: 'slow' } }
  const body = { metadata: { name: 'mine' }, spec }
  t.equal((await call(server, { method: 'POST', path: `${flow}/flowschemas`, body })).status, 201)
  t.match(await dangling('NotFound'), {
    type: 'Dangling',
    status: 'True',
    message:
      'This FlowSchema references the PriorityLevelConfiguration object named "slow" but there is no such object',
  })
  const limited = { nominalConcurrencyShares: 1, limitResponse: { type: 'Reject' } }
  const level = { metadata: { name: 'slow' }, spec: { type: 'Limited', limited } }
  t.equal((await call(server, { method: 'POST', path: levels, body: level })).status, 201)
  t.match(await dangling('Found'), {
    status: 'False',
    message:
      'This FlowSchema references the PriorityLevelConfiguration object named "slow" and it exists',
  })
  t.equal((await call(server, { method: 'DELETE', path: `${levels}/slow` })).status, 200)
  t.match(await dangling('NotFound'), { status: 'True' })
})

t.test(
  'a condition that somebody turns around again and again is put right six times',
  async (t) => {
    const server = await startServer(t)
    const conditionOf = async (name: string) =>
      (await call(server, { path: `${flow}/flowschemas/${name}` })).body.status.conditions?.[0]
    const turn = async (name: string) => {
      const { status } = await call(server, {
        method: 'PATCH',
        path: `${flow}/flowschemas/${name}/status`,
        body: { status: { conditions: [{ type: 'Dangling', status: 'True', reason: 'Mine' }] } },
        headers: { 'content-type': 'application/merge-patch+json' },
      })
      t.equal(status, 200)
    }
    const isRight = async (name: string) => (await conditionOf(name)).reason === 'Found'
    // It was written once when the server started.
    for (let times = 1; times < limits.conditionWritesMax; times++) {
      await turn('probes')
      await eventually('the condition that is put right', () => isRight('probes'))
    }
    await turn('probes')
    // The server has seen one change when it answers the next.
    await turn('exempt')
    await eventually('the condition of another schema', () => isRight('exempt'))
    t.match(await conditionOf('probes'), { status: 'True', reason: 'Mine' })
  },
)
