/** The resolv.conf of a Pod; upstream: pkg/kubelet/network/dns. */
import { readFileSync } from 'node:fs'
import { limits } from '#limits'
import { formatPod, type Pod } from '../pod.js'

/** DNS settings of the node. */
export interface DnsSettings {
  /** Addresses of the cluster's own servers. */
  readonly clusterDns: readonly string[]
  readonly clusterDomain: string
  /** The node's own resolv.conf. */
  readonly resolvConf: string
}

export interface DnsConfig {
  readonly servers: readonly string[]
  readonly searches: readonly string[]
  readonly options: readonly string[]
}

export interface PodDns {
  readonly config: DnsConfig
  /** Reason and message of Events for settings that did not fit or are missing. */
  readonly warnings: readonly { readonly reason: string; readonly message: string }[]
}

/** The last value of each option wins. */
const lastOfEach = (options: readonly string[]): string[] => [
  ...new Map(options.map((option) => [option.split(':')[0], option])).values(),
]

const parseResolvConf = (text: string): DnsConfig => {
  const servers: string[] = []
  const options: string[] = []
  let searches: string[] = []
  for (const line of text.split('\n')) {
    const [word, ...rest] = line.trim().split(/\s+/)
    if (word === 'nameserver' && rest[0]) servers.push(rest[0])
    if (word === 'options') options.push(...rest)
    if (word === 'search')
      searches = rest.filter((name) => name !== '.').map((name) => name.replace(/\.$/, ''))
  }
  return { servers, searches, options: lastOfEach(options) }
}

/** The settings that a Pod's are based on. */
const originOf = ({ spec }: Pod): 'none' | 'cluster' | 'node' => {
  if (spec.dnsPolicy === 'None') return 'none'
  if (spec.dnsPolicy === 'Default') return 'node'
  return spec.hostNetwork && spec.dnsPolicy !== 'ClusterFirstWithHostNet' ? 'node' : 'cluster'
}

const ofCluster = (
  { metadata }: Pod,
  { clusterDns, clusterDomain }: DnsSettings,
  ofNode: DnsConfig,
): DnsConfig => ({
  servers: clusterDns,
  searches: [
    `${metadata.namespace}.svc.${clusterDomain}`,
    `svc.${clusterDomain}`,
    clusterDomain,
    ...ofNode.searches,
  ],
  options: ['ndots:5'],
})

const withOwn = ({ spec }: Pod, base: DnsConfig): DnsConfig => {
  const { nameservers = [], searches = [], options = [] } = spec.dnsConfig ?? {}
  const own = options.map(({ name = '', value }) => (value ? `${name}:${value}` : name))
  return {
    servers: [...new Set([...base.servers, ...nameservers])],
    searches: [...new Set([...base.searches, ...searches])],
    options: lastOfEach([...base.options, ...own]),
  }
}

const fittingSearches = (searches: readonly string[]): string[] => {
  const short = searches
    .slice(0, limits.dnsSearchesMax)
    .filter((name) => name.length <= limits.dnsNameLengthMax)
  while (short.join(' ').length > limits.dnsSearchLineLengthMax) short.pop()
  return short
}

/** For Pods that see the host's files. */
export const noDns: PodDns = {
  config: { servers: [], searches: [], options: [] },
  warnings: [],
}

/** Throws if the node's own settings cannot be read. */
export const dnsOf = (pod: Pod, settings: DnsSettings): PodDns => {
  const warnings: { reason: string; message: string }[] = []
  const origin = originOf(pod)
  const ofNode =
    origin === 'none' ? noDns.config : parseResolvConf(readFileSync(settings.resolvConf, 'utf8'))
  const isClusters = origin === 'cluster' && settings.clusterDns.length > 0
  if (origin === 'cluster' && !isClusters)
    warnings.push({
      reason: 'MissingClusterDNS',
      message: `pod: "${formatPod(pod)}". kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.`,
    })
  const wanted = withOwn(pod, isClusters ? ofCluster(pod, settings, ofNode) : ofNode)
  const servers = wanted.servers.slice(0, limits.dnsServersMax)
  if (servers.length < wanted.servers.length)
    warnings.push({
      reason: 'DNSConfigForming',
      message: `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${servers.join(' ')}`,
    })
  const searches = fittingSearches(wanted.searches)
  if (searches.length < wanted.searches.length)
    warnings.push({
      reason: 'DNSConfigForming',
      message: `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${searches.join(' ')}`,
    })
  return { config: { servers, searches, options: wanted.options }, warnings }
}
