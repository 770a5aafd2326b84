/** Ports of a node: which Pods cannot be there together. */
import t from 'tap'
import { arePortsTaken, type PortHolder } from '#client/host-ports.js'

type Port = { hostPort?: number; hostIP?: string; protocol?: string }

t.test('two Pods clash over a port of one protocol unless both name other addresses', (t) => {
  const holder = (...ports: Port[]): PortHolder => ({
    spec: { containers: [{}, { ports: ports.map((port) => ({ containerPort: 9, ...port })) }] },
  })
  const clash = (one: Port, other: Port): boolean => {
    const free = holder({ hostPort: 1 }, {}, { hostPort: 0 })
    const taken = arePortsTaken(holder(one), [free, holder({ hostPort: 7 }, other)])
    t.equal(arePortsTaken(holder(other), [holder(one)]), taken, 'whoever was first')
    return taken
  }
  t.ok(clash({ hostPort: 80 }, { hostPort: 80 }))
  t.notOk(clash({ hostPort: 80 }, { hostPort: 81 }))
  t.ok(clash({ hostPort: 80 }, { hostPort: 80, protocol: 'TCP' }))
  t.notOk(clash({ hostPort: 80 }, { hostPort: 80, protocol: 'UDP' }))
  t.ok(clash({ hostPort: 80 }, { hostPort: 80, hostIP: '10.0.0.1' }))
  t.ok(clash({ hostPort: 80, hostIP: '' }, { hostPort: 80, hostIP: '10.0.0.1' }))
  t.ok(clash({ hostPort: 80, hostIP: '0.0.0.0' }, { hostPort: 80, hostIP: '10.0.0.1' }))
  t.ok(clash({ hostPort: 80, hostIP: '10.0.0.1' }, { hostPort: 80, hostIP: '10.0.0.1' }))
  t.notOk(clash({ hostPort: 80, hostIP: '10.0.0.1' }, { hostPort: 80, hostIP: '10.0.0.2' }))
  t.notOk(clash({ hostPort: 0 }, { hostPort: 0 }), 'none is wanted')
  t.notOk(clash({}, {}))
  t.end()
})

t.test('a sidecar holds its ports, an init container that ends does not', (t) => {
  const init = (restartPolicy?: string): PortHolder => {
    const own = { ports: [{ containerPort: 9, hostPort: 80 }], restartPolicy }
    return { spec: { containers: [{}], initContainers: [own] } }
  }
  t.ok(arePortsTaken(init('Always'), [init('Always')]))
  t.notOk(arePortsTaken(init('Always'), [init()]))
  t.notOk(arePortsTaken(init(), [init('Always')]))
  t.end()
})
