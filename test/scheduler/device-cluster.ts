/** A server, the scheduler and the controller of claims in one process, with two nodes of which one has devices. */
import { whenAborted } from '#async/sleep.js'
import type { Client } from '#client/client.js'
import type { Pod } from '#client/pod.js'
import type { ResourceClaim } from '#client/resource-claim.js'
import { resources } from '#client/resources.js'
import { parseFlags } from '#program/flags.js'
import { schedulerProcess } from '#scheduler/main.js'
import { manage, startBeside } from '../controllers/in-process.js'
import { eventually } from '../eventually.js'

export const namespace = 'default'
export const driver = 'gpu.example.com'

export const podNamed = (name: string, resourceClaims: object[], container: object = {}) => ({
  metadata: { name, namespace },
  spec: {
    containers: [{ name: 'c', image: 'i', ...container }],
    tolerations: [{ operator: 'Exists' }],
    terminationGracePeriodSeconds: 0,
    resourceClaims,
  },
})

export const podOf = (client: Client, name: string) =>
  client.get<Pod>(resources.pods, { name, namespace })
export const claimOf = (client: Client, name: string) =>
  client.get<ResourceClaim>(resources.resourceClaims, { name, namespace })

type Run = Parameters<typeof startBeside>[1]
export const schedule: Run = (deps) =>
  schedulerProcess.run(deps, parseFlags([], schedulerProcess.flags))

/** It knows all that was there before `begin`, before it looks at a Pod. */
export const scheduleLater = (run = schedule): { run: Run; begin: () => void } => {
  let begin = (): void => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  return {
    async run(deps) {
      await Promise.race([begun, whenAborted(deps.signal)])
      await run(deps)
    },
    begin,
  }
}

/** As the driver of the node does it. */
export const publish = (client: Client, nodeName: string, devices: object[]) =>
  client.create(resources.resourceSlices, {
    metadata: { name: `of-${nodeName}` },
    spec: {
      driver,
      nodeName,
      pool: { name: nodeName, generation: 1, resourceSliceCount: 1 },
      devices,
    },
  })

/** The devices are those of the node `near`. */
export const start = async (
  t: Parameters<typeof startBeside>[0],
  devices: object[] = [{ name: 'g0' }],
  run = schedule,
  own?: Parameters<typeof startBeside>[2],
): Promise<Client> => {
  const options = { disableAdmissionPlugins: ['ServiceAccount'] }
  const client = await startBeside(t, run, own, options)
  manage(t, client, { controllers: ['resourceclaim-controller'] })
  const capacity = { cpu: '4', memory: '8Gi', pods: '10' }
  const status = { capacity, allocatable: capacity }
  for (const name of ['near', 'far'])
    await client.create(resources.nodes, { metadata: { name }, status })
  await client.create(resources.deviceClasses, {
    metadata: { name: 'gpu' },
    spec: {
      selectors: [{ cel: { expression: `device.driver == '${driver}'` } }],
      extendedResourceName: 'example.com/gpu',
    },
  })
  await publish(client, 'near', devices)
  return client
}

/** One device of the class. */
export const spec = {
  devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu' } }] },
}

export const untilBound = (client: Client, name: string) =>
  eventually(`${name} has a node`, async () => {
    const pod = await podOf(client, name)
    return pod.spec.nodeName === undefined ? undefined : pod
  })
