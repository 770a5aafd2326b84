import t from 'tap'
import { parseReading } from '#metrics-server/kubelet-reading.js'
import { UsageStore } from '#metrics-server/usage-store.js'

const reading = (seconds: number, cpu: number, started = 0): string => `# HELP
container_cpu_usage_seconds_total{container="c",namespace="ns",pod="p"} ${cpu} ${seconds * 1000}
container_memory_working_set_bytes{container="c",namespace="ns",pod="p"} 4096 ${seconds * 1000}
container_start_time_seconds{container="c",namespace="ns",pod="p"} ${started}
node_cpu_usage_seconds_total ${cpu * 2} ${seconds * 1000}
node_memory_working_set_bytes 1e9 ${seconds * 1000}
`

t.test('what was used between two readings', async (t) => {
  const store = new UsageStore(15_000)
  const read = (...given: Parameters<typeof reading>) =>
    store.record('n', parseReading(reading(...given), 0))
  const cpu = () => store.pod('ns', 'p')?.get('c')?.cpuNano
  read(1000, 50)
  t.equal(cpu(), undefined, 'one reading tells nothing')
  t.notOk(store.knows('n'))
  read(1010, 55)
  t.equal(cpu(), 500_000_000n, 'half a core')
  t.match(store.node('n'), {
    cpuNano: 1_000_000_000n,
    memoryBytes: 1_000_000_000n,
    windowMs: 10_000,
  })
  read(1010, 55)
  t.equal(cpu(), 500_000_000n, 'the same reading again changes nothing')
  read(1025, 1, 1021)
  t.equal(cpu(), undefined, 'started anew, and too young to say')
  read(1041, 2, 1021)
  t.equal(cpu(), 62_500_000n)
  read(1056, 3, 1044)
  t.equal(cpu(), 250_000_000n, 'since its own start, which is later than the reading before')
  read(1066, 2, 1044)
  t.equal(cpu(), undefined, 'a counter that went backwards')
  store.record('n', { node: undefined, pods: [] })
  t.equal(store.pod('ns', 'p'), undefined, 'a Pod that is gone')
  store.keepNodes(new Set())
  t.equal(store.node('n'), undefined)
})

t.test('figures that cannot be are none, and do not end the lists of all nodes', async (t) => {
  const store = new UsageStore(15_000)
  const read = (cpu: string, memory: string, time: string) => {
    const text = `node_cpu_usage_seconds_total ${cpu} ${time}
node_memory_working_set_bytes ${memory} ${time}
`
    store.record('n', parseReading(text, 20_000))
    return store.node('n')
  }
  read('1', '1', '10000')
  t.equal(read('NaN', '1', '20000'), undefined)
  t.equal(read('2', '1e400', '20000'), undefined)
  t.equal(read('2', '-1', '20000'), undefined)
  t.match(read('2', '1', '9'.repeat(30)), { atMs: 20_000, cpuNano: 100_000_000n })
})

t.test('labels may be one very long word', async (t) => {
  const line = `node_cpu_usage_seconds_total{${'a'.repeat(1_000_000)}} 1\n`
  t.equal(parseReading(line, 0).node, undefined)
})
