/**
 * `kubelevel up`: the API server in this process, kubelet, scheduler, controllers and metrics server as children that are started
 * again when they crash.
 */
import { hostname } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodesGroup, nodeUserPrefix, serviceAccountUser } from '#api/user-info.js'
import { whenAborted } from '#async/sleep.js'
import { whyNoAnswer } from '#client/why-no-answer.js'
import { limits } from '#limits'
import type { Flags } from '#program/flags.js'
import { packageRoot } from '#program/package-root.js'
import type { Server } from '#server/create-server.js'
import { credentialsDirectory, credentialsOf } from '#server/credentials/identity.js'
import { writePrivateFile } from '#server/credentials/private-files.js'
import { keepRunning } from './kept-child.js'
import type { ExitCode, Machine } from './machine.js'
import { announce, shellWord, startServer } from './serve.js'
import { serverOptionsOf } from './serve-flags.js'

/** Controllers sign certificates and tokens with the keys that the server trusts, when they are kept in files. */
const signingFlags = (flags: Flags, machine: Machine): string[] => {
  const options = serverOptionsOf(flags)
  const directory = credentialsDirectory(options)
  if (directory === undefined) return []
  // Made at first use, which may be a controller's.
  if (options.serviceAccountSigningKeyFile === undefined)
    credentialsOf(options, machine).serviceAccountKeyPem()
  const tokenKey = options.serviceAccountSigningKeyFile ?? path.join(directory, 'sa.key')
  return [
    `--cluster-signing-cert-file=${path.join(directory, 'ca.crt')}`,
    `--cluster-signing-key-file=${path.join(directory, 'ca.key')}`,
    `--service-account-private-key-file=${tokenKey}`,
  ]
}

const metricsServer = serviceAccountUser('kube-system', 'metrics-server')

/**
 * The flags of the processes beside the server. Where an authorizer knows them they are who they are in a cluster of
 * kubeadm, so that admission and the audit log see them as there, and else the admin.
 */
const processFlags = (server: Server, flags: Flags, kubeconfig: string) => {
  const dataDir = flags.text('data-dir')!
  const modes = flags.isGiven('authorization-config') ? [] : flags.list('authorization-mode')!
  const kubeconfigFlags = (file: string, user: string, groups?: readonly string[]): string[] => {
    const own = path.join(dataDir, file)
    writePrivateFile(own, server.kubeconfigOf(user, groups))
    return ['--kubeconfig', own]
  }
  const admin = ['--kubeconfig', kubeconfig]
  const name = hostname().toLowerCase()
  return {
    controllers: modes.includes('RBAC')
      ? [
          ...kubeconfigFlags('controller-manager.conf', 'system:kube-controller-manager'),
          '--use-service-account-credentials',
        ]
      : admin,
    scheduler: modes.includes('RBAC')
      ? kubeconfigFlags('scheduler.conf', 'system:kube-scheduler')
      : admin,
    kubelet: [
      ...(modes.includes('Node')
        ? [
            ...kubeconfigFlags('kubelet.conf', `${nodeUserPrefix}${name}`, [nodesGroup]),
            '--node-name',
            name,
          ]
        : admin),
      '--root-dir',
      path.join(dataDir, 'kubelet'),
    ],
    metrics: modes.includes('RBAC')
      ? kubeconfigFlags('metrics-server.conf', metricsServer.name, metricsServer.groups)
      : admin,
  }
}

export const up = async (machine: Machine, given: Flags, kubeconfig: string): Promise<ExitCode> => {
  // As kubeadm: the kubelet is its node.
  const flags = given.withDefaults({ 'authorization-mode': ['Node', 'RBAC'] })
  const server = await startServer(machine, flags, 'up')
  if (server === undefined) return 1
  const of = processFlags(server, flags, kubeconfig)
  const controllers = keepRunning(machine, 'controller-manager', [
    ...of.controllers,
    ...signingFlags(flags, machine),
  ])
  const scheduler = keepRunning(machine, 'scheduler', of.scheduler)
  const kubelet = keepRunning(machine, 'kubelet', of.kubelet)
  const metrics = keepRunning(machine, 'metrics-server', of.metrics)
  announce(machine, server, kubeconfig, [
    'kubectl get nodes',
    `kubectl apply -f ${shellWord(path.relative('', fileURLToPath(new URL('examples/web.yaml', packageRoot))))}`,
    'kubectl delete pod web-0',
    'npx kubelevel timeline web-0',
  ])
  machine.server.started()
  const tell = (what: string) => (error: Error) => {
    if (!machine.stopSignal.aborted)
      machine.stderr(`kubelevel up: no ${what}: ${whyNoAnswer(error)}\n`)
  }
  import('./own-objects.js')
    .then(({ makeOwnObjects }) =>
      makeOwnObjects({ kubeconfig, dataDir: flags.text('data-dir')!, tell }),
    )
    .catch(tell('objects of its own'))
  await whenAborted(machine.stopSignal)
  if (machine.isTerminal)
    machine.stderr(
      `\nStopping. Pods get up to ${limits.shutdownGraceSecondsMax} s to end; Ctrl-C again leaves them running.\n`,
    )
  // The kubelet ends its Pods' processes while the server still takes their last status.
  await kubelet.stop()
  await Promise.all([scheduler.stop(), controllers.stop(), metrics.stop()])
  await server.close()
  return 0
}
