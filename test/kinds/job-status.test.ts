/** The status of a Job, written by hand. */
import t from 'tap'
import job from '#kinds/batch/job.js'
import { startApiInMemory } from './api-in-memory.js'

t.test('a zero time is a time that is given, and before all others', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  await api.create('batch/v1/jobs', { ...job.sample, metadata: { name: 'j' } }, inDefault)
  const refusal = async (status: object): Promise<string> =>
    (await api.replace('batch/v1/jobs', 'j', (next) => Object.assign(next, { status }), ofStatus))
      .body.message
  const zero = '0001-01-01T00:00:00Z'
  t.match(
    await refusal({ completionTime: zero }),
    'status.completionTime: Invalid value: null: cannot set completionTime when there is no Complete=True condition',
  )
  const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => ({ type, status: 'True' }))
  t.match(
    await refusal({ startTime: '2020-01-01T00:00:00Z', completionTime: zero, conditions }),
    'status.completionTime: Invalid value: null: must be equal to or after `startTime`',
  )
})

const inDefault = { namespace: 'default' }
const ofStatus = { ...inDefault, subresource: 'status' }
