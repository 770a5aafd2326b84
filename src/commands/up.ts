/**
 * `kubelevel up`: the API server in this process, kubelet, scheduler, controllers and metrics server as children that are started
 * again when they crash.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import type { Flags } from '#api/flags.js'
import { whenAborted } from '#client/backoff.js'
import { credentialsDirectory, credentialsOf } from '#server/identity.js'
import type { ExitCode, Machine } from './machine.js'
import { announce, startServer } from './serve.js'
import { serverOptionsOf } from './serve-flags.js'

const restartDelayMinMs = 500
const restartDelayMaxMs = 30_000
/** A child that lived this long starts again without delay. */
const healthyAfterMs = 60_000
const childStopMs = 10_000

interface Child {
  /** Ends it with SIGTERM, with SIGKILL when it does not listen; resolves when it is gone. */
  stop(): Promise<void>
}

/** Keeps one child alive. It gets its own process group, so that Ctrl-C reaches it through us and in our order. */
const keepRunning = (machine: Machine, name: string, args: readonly string[]): Child => {
  let stopping = false
  let delayMs = restartDelayMinMs
  let timer: NodeJS.Timeout | undefined
  let child: ChildProcess | undefined
  let gone: () => void = () => {}
  const ended = new Promise<void>((resolve) => {
    gone = resolve
  })
  const start = (): void => {
    const startedAt = machine.now()
    // The IPC channel tells a child that we are gone, however we went.
    child = spawn(machine.nodePath, [machine.mainFile, name, ...args], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      detached: true,
    })
    child.once('error', (error) => machine.stderr(`kubelevel up: ${name}: ${error.message}\n`))
    child.once('close', (code, signal) => {
      child = undefined
      if (stopping) return gone()
      if (machine.now() - startedAt > healthyAfterMs) delayMs = restartDelayMinMs
      machine.stderr(
        `kubelevel up: ${name} ended (${signal ?? `exit ${code}`}), again in ${delayMs} ms\n`,
      )
      timer = setTimeout(start, delayMs)
      delayMs = Math.min(delayMs * 2, restartDelayMaxMs)
    })
  }
  start()
  return {
    stop: async () => {
      stopping = true
      clearTimeout(timer)
      if (child === undefined) return
      child.kill('SIGTERM')
      const force = setTimeout(() => child?.kill('SIGKILL'), childStopMs)
      await ended
      clearTimeout(force)
    },
  }
}

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

export const up = async (machine: Machine, flags: Flags, kubeconfig: string): Promise<ExitCode> => {
  const server = await startServer(machine, flags, 'up')
  if (server === undefined) return 1
  const common = ['--kubeconfig', kubeconfig]
  const rootDir = path.join(flags.text('data-dir')!, 'kubelet')
  const controllers = keepRunning(machine, 'controller-manager', [
    ...common,
    ...signingFlags(flags, machine),
  ])
  const scheduler = keepRunning(machine, 'scheduler', common)
  const kubelet = keepRunning(machine, 'kubelet', [...common, '--root-dir', rootDir])
  const metrics = keepRunning(machine, 'metrics-server', common)
  announce(machine, server, kubeconfig, [
    'kubectl get nodes',
    'kubectl apply -f examples/web.yaml',
    'kubectl delete pod web-0',
    'npx kubelevel timeline web-0',
  ])
  machine.server.started()
  await whenAborted(machine.stopSignal)
  // The kubelet ends its Pods' processes while the server still takes their last status.
  await kubelet.stop()
  await Promise.all([scheduler.stop(), controllers.stop(), metrics.stop()])
  await server.close()
  return 0
}
