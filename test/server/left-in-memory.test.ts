/** What a server that has been closed leaves in the memory of its process, which may have others. */
import { queryObjects } from 'node:v8'
import t, { type Test } from 'tap'
import { RequestMetrics } from '#routes/metrics/request-metrics.js'
import { createServer } from '#server/create-server.js'
import { eventually } from '../eventually.js'
import { call } from './start-server.js'

/** Of what each server has one. */
const left = () => Number(queryObjects(RequestMetrics))

const useOnce = async (t: Test): Promise<void> => {
  const server = await createServer({ authorizationModes: ['Node', 'RBAC'] })
  const watch = '/api/v1/pods?watch=1&timeoutSeconds=1'
  for (const path of ['/metrics', '/openapi/v2', '/openapi/v3', '/apis', '/api/v1/pods', watch])
    t.equal((await call(server, { path })).status, 200)
  t.equal(left(), 1)
  await server.close()
}

t.test('nothing of it is left, whatever it was asked for', async (t) => {
  await useOnce(t)
  await eventually('nothing is left', () => left() === 0)
})
