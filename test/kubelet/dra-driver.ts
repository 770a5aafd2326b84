/** A DRA driver on sockets of its own. */
import path from 'node:path'
import type { Test } from 'tap'
import { type DraVersion, draFacts } from '#kubelet/dra/dra-client.js'
import { type Call, register, serve } from './csi-driver.js'

interface Claim {
  readonly uid: string
  readonly name: string
}

export interface DraTestDriver {
  readonly calls: readonly Call[]
  /** What a method says of every claim instead; set and deleted by tests. */
  readonly failures: Map<string, string>
}

/** Its devices have the CDI names `vendor.example/gpu=<claim>`. */
export const startDraDriver = async (
  t: Test,
  rootDir: string,
  { name = 'gpu.example', version = 'v1' }: { name?: string; version?: DraVersion } = {},
): Promise<DraTestDriver> => {
  const calls: Call[] = []
  const failures = new Map<string, string>()
  const answering =
    (method: string, answer: (claim: Claim) => object) =>
    (request: Record<string, unknown>): Record<string, unknown> => {
      calls.push({ method, request })
      const error = failures.get(method)
      const claims = request.claims as Claim[]
      return {
        claims: Object.fromEntries(
          claims.map((claim) => [claim.uid, error === undefined ? answer(claim) : { error }]),
        ),
      }
    }
  const endpoint = path.join(rootDir, 'plugins', name, 'dra.sock')
  const close = await serve(endpoint, draFacts(version), 'DRAPlugin', {
    NodePrepareResources: answering('NodePrepareResources', (claim) => ({
      devices: [
        {
          request_names: ['gpu'],
          pool_name: 'node-1',
          device_name: 'gpu-0',
          cdi_device_ids: [`vendor.example/gpu=${claim.name}`],
        },
      ],
    })),
    NodeUnprepareResources: answering('NodeUnprepareResources', () => ({})),
  })
  const unregister = await register(rootDir, {
    type: 'DRAPlugin',
    name,
    endpoint,
    supported_versions: [`${version}.DRAPlugin`],
  })
  t.teardown(() => {
    unregister()
    close()
  })
  return { calls, failures }
}
