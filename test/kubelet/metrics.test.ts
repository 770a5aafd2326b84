/** What Prometheus reads of a kubelet, through the API server. */
import t from 'tap'
import { eventually } from '../eventually.js'
import { script, startNode } from './node.js'

t.test('the kubelet itself, and what runs on its node', async (t) => {
  const node = await startNode(t)
  const read = async (page: string) => {
    const path = `/api/v1/nodes/node-1/proxy/${page}`
    let text = ''
    for await (const chunk of await node.client.stream({ method: 'GET', path })) text += chunk
    return text
  }
  t.match(await read('metrics'), /^kubelet_running_pods 0$/m)
  await node.run('p', script('exec sleep 8299.5'))
  await node.ready('p')
  const own = await read('metrics')
  t.match(own, /^kubelet_node_name\{node="node-1"\} 1$/m)
  t.match(own, /^# TYPE kubelet_running_pods gauge\nkubelet_running_pods 1$/m)
  t.match(own, /^kubelet_running_containers\{container_state="running"\} 1$/m)
  t.match(own, /^# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total \d/m)
  const labels = '{container="main",namespace="default",pod="p"}'
  await eventually('its figures', async () =>
    (await read('metrics/resource')).includes(`container_memory_working_set_bytes${labels}`),
  )
  await t.rejects(read('metrics/nothing'), { message: /404 page not found|could not find/ })
})
