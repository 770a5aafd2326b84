/** Flags of how the server asks kubelets, with kube-apiserver's names. */
import type { Flag, Flags } from '#program/flags.js'
import type { ServerOptions } from '#server/options.js'
import { existingFile } from './flag-checks.js'
import { pairOf } from './serving-flags.js'

export const kubeletAccessFlags: readonly Flag[] = [
  {
    name: 'kubelet-client-certificate',
    type: 'string',
    check: existingFile,
    help: "client certificate for kubelets (default: one of the server's own CA)",
  },
  {
    name: 'kubelet-client-key',
    type: 'string',
    check: existingFile,
    help: 'private key of that certificate, PEM',
  },
  {
    name: 'kubelet-certificate-authority',
    type: 'string',
    check: existingFile,
    help: 'CA of the certificates that kubelets serve with (default: any certificate is taken)',
  },
  {
    name: 'kubelet-preferred-address-types',
    type: 'strings',
    default: 'InternalIP,Hostname,InternalDNS,ExternalIP,ExternalDNS',
    help: 'of the addresses of a node the first of these types is asked',
  },
  {
    name: 'kubelet-timeout',
    type: 'duration',
    default: '5s',
    help: 'has no effect, as in kube-apiserver',
  },
]

/** Throws a UsageError for flags that contradict each other. */
export const kubeletAccessOptionsOf = (flags: Flags): ServerOptions => {
  const [kubeletClientCertificate, kubeletClientKey] = pairOf(
    flags,
    'kubelet-client-certificate',
    'kubelet-client-key',
  )
  return {
    kubeletClientCertificate,
    kubeletClientKey,
    kubeletCertificateAuthority: flags.text('kubelet-certificate-authority'),
    kubeletPreferredAddressTypes: flags.list('kubelet-preferred-address-types'),
  }
}
