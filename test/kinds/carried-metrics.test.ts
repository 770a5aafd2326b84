/** What an autoscaler of v1 carries in annotations: read as encoding/json reads it, ignored where it is not of its type. */
import t from 'tap'
import { startApiInMemory } from './api-in-memory.js'

const v1 = 'autoscaling/v1/horizontalpodautoscalers'
const spec = {
  scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
  maxReplicas: 3,
}
const cpu = (averageUtilization: number) => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
})

t.test('what is carried is JSON as Go writes it', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  const external = { metric: { name: '<&>' }, target: { type: 'Value', value: '1' } }
  const metrics = [{ type: 'External', external }]
  const v2 = { metadata: { name: 'a' }, spec: { ...spec, metrics } }
  const inDefault = { namespace: 'default' }
  await api.create('autoscaling/v2/horizontalpodautoscalers', v2, inDefault)
  const shown = await api.replace(v1, 'a', () => undefined, inDefault)
  t.equal(
    shown.body.metadata.annotations['autoscaling.alpha.kubernetes.io/metrics'],
    String.raw`[{"type":"External","external":{"metricName":"\u003c\u0026\u003e","targetValue":"1"}}]`,
  )
})

t.test(
  'names in any case are read, unknown ones are not, and other types are nothing',
  async (t) => {
    const api = await startApiInMemory()
    t.teardown(api.close)
    let count = 0
    const create = async (key: string, text: string) => {
      const name = `a${count++}`
      const annotations = { [`autoscaling.alpha.kubernetes.io/${key}`]: text }
      const namespace = 'default'
      const answer = await api.create(v1, { metadata: { name, annotations }, spec }, { namespace })
      if (answer.code !== 201) return answer.body.details.causes[0].field
      const store = api.store('autoscaling', 'horizontalpodautoscalers')
      return (await store.get(api.context({ namespace }), name)).object
    }
    const metrics = async (text: string) => (await create('metrics', text)).spec?.metrics
    const memory = {
      type: 'Resource',
      resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 5 } },
    }
    const asked = '{"Name":"memory","TargetAverageUtilization":5,"x":1}'
    t.same(await metrics(`[{"type":"Resource","Resource":${asked}}]`), [memory])
    for (const text of ['', 'null', '{}', '[1]', '[{"type":"Resource","resource":5}]'])
      t.same(await metrics(text), [cpu(80)], `${text} is no metric`)
    t.equal(await create('metrics', '[null]'), 'spec.metrics[0].type')

    t.equal(await create('behavior', '{"scaleup":{}}'), 'spec.behavior.scaleUp.policies')
    for (const text of ['5', '{}', '{"ScaleUp":null,"ScaleDown":null}', '{"ScaleUp":5}'])
      t.equal((await create('behavior', text)).spec.behavior, undefined, `${text} is no behavior`)
    for (const key of ['conditions', 'current-metrics'])
      t.same((await create(key, '[null]')).spec.metrics, [cpu(80)])
  },
)

t.test('a carried behavior is checked as it is given, and then gets its defaults', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  const namespace = 'default'
  const create = (name: string, behavior: object) => {
    const text = JSON.stringify(behavior)
    const annotations = { 'autoscaling.alpha.kubernetes.io/behavior': text }
    return api.create(v1, { metadata: { name, annotations }, spec }, { namespace })
  }
  const { body } = await create('none', { ScaleUp: { StabilizationWindowSeconds: 5 } })
  t.match(body.message, 'spec.behavior.scaleUp.policies: Required value')
  const policies = [{ type: 'Pods', value: 1, periodSeconds: 5 }]
  await create('a', { ScaleUp: { Policies: policies } })
  const store = api.store('autoscaling', 'horizontalpodautoscalers')
  const { object } = await store.get(api.context({ namespace }), 'a')
  t.same(object.spec.behavior, {
    scaleUp: { stabilizationWindowSeconds: 0, selectPolicy: 'Max', policies },
    scaleDown: {
      selectPolicy: 'Max',
      policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
    },
  })
})
