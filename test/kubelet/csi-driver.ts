/** A CSI driver on sockets of its own, whose volumes are files that it writes into the folders it is given. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Server, ServerCredentials, type sendUnaryData, status } from '@grpc/grpc-js'
import type { Test } from 'tap'
import { csiFacts } from '#kubelet/csi/csi-types.js'
import type { PackageFacts } from '#kubelet/grpc/proto-facts.js'
import { loadService } from '#kubelet/grpc/rpc-client.js'
import { registrationFacts } from '#kubelet/plugins/registration-client.js'

type Answer = Record<string, unknown>
type Request = Record<string, unknown>
type Methods = Readonly<Record<string, (request: Request) => Answer | Promise<Answer>>>

/** Serves the methods on a Unix socket; resolves to what closes it, and removes the socket. */
export const serve = async (
  socket: string,
  facts: PackageFacts,
  service: string,
  methods: Methods,
): Promise<() => void> => {
  mkdirSync(path.dirname(socket), { recursive: true })
  const server = new Server()
  const handlers = Object.entries(methods).map(([name, answer]) => [
    name,
    async ({ request }: { request: Request }, done: sendUnaryData<Answer>) => {
      try {
        done(null, await answer(request))
      } catch (error) {
        done({ code: status.INTERNAL, details: (error as Error).message })
      }
    },
  ])
  server.addService(loadService(facts, service).service, Object.fromEntries(handlers))
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  )
  return () => {
    server.forceShutdown()
    rmSync(socket, { force: true })
  }
}

/** A plugin's registration socket. */
export const register = (
  rootDir: string,
  plugin: { type: string; name: string; endpoint: string; supported_versions: string[] },
  notified: (error: string) => void = () => {},
): Promise<() => void> =>
  serve(
    path.join(rootDir, 'plugins_registry', `${plugin.name}-reg.sock`),
    registrationFacts,
    'Registration',
    {
      GetInfo: () => plugin,
      NotifyRegistrationStatus: ({ error }) => {
        notified(error as string)
        return {}
      },
    },
  )

export interface Call {
  readonly method: string
  readonly request: Request
}

export interface CsiTestDriver {
  readonly name: string
  /** Those of volumes, in their order. */
  readonly calls: readonly Call[]
  /** What a method answers with instead; set and deleted by tests. */
  readonly failures: Map<string, string>
  /** What a method waits for before it acts. */
  readonly holds: Map<string, Promise<void>>
  /** Ends its registration alone. */
  unregister(): void
}

export const startCsiDriver = async (
  t: Test,
  rootDir: string,
  { capabilities = [1] }: { capabilities?: readonly number[] } = {},
): Promise<CsiTestDriver> => {
  const name = 'test.csi.example'
  const calls: Call[] = []
  const failures = new Map<string, string>()
  const holds = new Map<string, Promise<void>>()
  const acting =
    (method: string, act: (request: Request) => void) =>
    async (request: Request): Promise<Answer> => {
      calls.push({ method, request })
      await holds.get(method)
      const failure = failures.get(method)
      if (failure !== undefined) throw new Error(failure)
      act(request)
      return {}
    }
  const endpoint = path.join(rootDir, 'plugins', name, 'csi.sock')
  const close = await serve(endpoint, csiFacts, 'Node', {
    NodeGetInfo: () => ({
      node_id: 'machine-7',
      max_volumes_per_node: 5,
      accessible_topology: { segments: { 'topology.csi.example/rack': 'r1' } },
    }),
    NodeGetCapabilities: () => ({ capabilities: capabilities.map((type) => ({ rpc: { type } })) }),
    NodeStageVolume: acting('NodeStageVolume', ({ staging_target_path, volume_id }) =>
      writeFileSync(path.join(staging_target_path as string, 'data'), `data of ${volume_id}`),
    ),
    NodePublishVolume: acting('NodePublishVolume', (request) => {
      const target = request.target_path as string
      const staged = path.join(request.staging_target_path as string, 'data')
      mkdirSync(target, { recursive: true })
      writeFileSync(
        path.join(target, 'data'),
        request.staging_target_path && existsSync(staged) ? readFileSync(staged) : 'unstaged',
      )
    }),
    NodeUnpublishVolume: acting('NodeUnpublishVolume', ({ target_path }) =>
      rmSync(target_path as string, { recursive: true, force: true }),
    ),
    NodeExpandVolume: acting('NodeExpandVolume', () => {}),
    NodeUnstageVolume: acting('NodeUnstageVolume', ({ staging_target_path }) =>
      rmSync(path.join(staging_target_path as string, 'data'), { force: true }),
    ),
  })
  const unregister = await register(rootDir, {
    type: 'CSIPlugin',
    name,
    endpoint,
    supported_versions: ['1.0.0'],
  })
  t.teardown(() => {
    unregister()
    close()
  })
  return { name, calls, failures, holds, unregister }
}
