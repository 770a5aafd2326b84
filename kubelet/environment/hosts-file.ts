/** A Pod's /etc/hosts: its own address and its hostAliases; upstream: ensureHostsFile (pkg/kubelet/kubelet_pods.go). */
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Pod } from '../pod.js'
import type { Mount } from '../runtime.js'
import type { PodHostname } from './pod-hostname.js'

export const hostsPath = '/etc/hosts'
const header = '# Kubernetes-managed hosts file'
const everybody = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
]

const lines = (all: readonly string[]): string => all.map((line) => `${line}\n`).join('')

const aliasesOf = ({ spec }: Pod): string => {
  const aliases = spec.hostAliases ?? []
  if (aliases.length === 0) return ''
  const own = aliases.map(({ ip, hostnames = [] }) => [ip, ...hostnames].join('\t'))
  return lines(['', '# Entries added by HostAliases.', ...own])
}

const contentOf = async (
  pod: Pod,
  { hostname, domain }: PodHostname,
  ips: readonly string[],
): Promise<string> => {
  if (pod.spec.hostNetwork)
    return `${header} (host network).\n${await readFile(hostsPath, 'utf8')}${aliasesOf(pod)}`
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`
  const itself = ips.map((ip) => `${ip}\t${names}`)
  return lines([`${header}.`, ...everybody, ...itself]) + aliasesOf(pod)
}

/** All containers of a Pod share the file. Undefined if the Pod has no address. */
export const makeHostsFile = async (
  podFolder: string,
  { pod, name, ips }: { pod: Pod; name: PodHostname; ips: readonly string[] },
): Promise<Mount | undefined> => {
  if (ips.length === 0) return undefined
  const hostPath = path.join(podFolder, 'etc-hosts')
  await mkdir(podFolder, { recursive: true })
  await writeFile(hostPath, await contentOf(pod, name, ips))
  // Readable for every user of the containers, whatever our umask is.
  await chmod(hostPath, 0o644)
  return { volume: '', hostPath, containerPath: hostsPath, readOnly: false }
}
