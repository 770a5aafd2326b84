/**
 * Repairs addresses after a crash between two writes: an IPAddress whose Service was never stored, or a stored Service
 * whose IPAddress is missing (kubernetes, pkg/registry/core/service/ipallocator/controller).
 */
import { parseTime } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { internalContext } from '#registry/internal-context.js'
import { listAll } from '#registry/list-all.js'
import type { RequestContext } from '#registry/resource-definition.js'
import { canonicalIp, readRanges, releaseAddress, takeAddress } from './service-address-pool.js'
import { isHeadless, type ServiceSpec } from './service-spec.js'

/** An address this young may belong to a create that is still under way. */
const graceMs = 60_000

const objectsOf = async (
  { stores }: RequestContext,
  group: string,
  resource: string,
): Promise<KubeObject[]> => {
  const store = stores({ group, resource })
  return store === undefined ? [] : (await listAll(store)).items.map(({ object }) => object)
}

/** As IPAddresses are named: a Service keeps the form that it was given. */
const ownIps = (service: KubeObject): string[] => {
  const spec: ServiceSpec = service.spec ?? {}
  return spec.type === 'ExternalName' || isHeadless(spec)
    ? []
    : (spec.clusterIPs ?? []).map(canonicalIp)
}

export const repairAddresses = async (
  base: Pick<RequestContext, 'now' | 'caller' | 'stores'>,
): Promise<void> => {
  const ctx = internalContext(base)
  const services = await objectsOf(ctx, '', 'services')
  const addresses = await objectsOf(ctx, 'networking.k8s.io', 'ipaddresses')
  const holders = new Set(
    services.flatMap((s) =>
      ownIps(s).map((ip) => `${s.metadata.namespace}/${s.metadata.name}/${ip}`),
    ),
  )
  const known = new Set(addresses.map((a) => a.metadata.name))
  for (const address of addresses) {
    const { labels, creationTimestamp, name: ip = '' } = address.metadata
    const parent = address.spec?.parentRef ?? {}
    const isOurs = labels?.['ipaddress.kubernetes.io/managed-by'] === 'ipallocator.k8s.io'
    const isYoung = base.now - parseTime(creationTimestamp ?? '') < graceMs
    if (!isOurs || isYoung || holders.has(`${parent.namespace}/${parent.name}/${ip}`)) continue
    await releaseAddress(ctx, ip, { namespace: parent.namespace, name: parent.name })
  }
  const ranges = await readRanges(ctx)
  for (const service of services) {
    const { namespace = '', name = '' } = service.metadata
    for (const ip of ownIps(service))
      if (!known.has(ip)) await takeAddress(ctx, ranges, ip, { namespace, name })
  }
}
