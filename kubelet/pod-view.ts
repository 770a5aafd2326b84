/** One Pod as its runtime has it, and what its worker has learned and asked for meanwhile. */
import type { PodFacts } from './downward.js'
import type { KillDeps } from './kill-container.js'
import { type ContainerSpec, fieldPathOf, type Pod } from './pod.js'
import type { PodContext } from './pod-context.js'
import type { HandlerTarget } from './probes/run-handler.js'
import type { Container, Sandbox } from './runtime.js'
import { addressesOf } from './status/pod-status.js'

export class PodView {
  readonly #context: PodContext
  readonly #pod: () => Pod

  constructor(context: PodContext, pod: () => Pod) {
    this.#context = context
    this.#pod = pod
  }

  containers(): readonly Container[] {
    return this.#context.runtime.containersOf(this.#pod().metadata.uid)
  }

  sandboxes(): readonly Sandbox[] {
    return this.#context.runtime.sandboxesOf(this.#pod().metadata.uid)
  }

  sandbox(): Sandbox | undefined {
    return this.sandboxes().find(({ ready }) => ready)
  }

  facts(): PodFacts {
    const { nodeAddress, allocatable } = this.#context
    const pod = this.#pod()
    const podIps = addressesOf(pod, this.sandbox(), nodeAddress)
    return { pod, podIps, nodeAddress, allocatable }
  }

  target(containerId: string, container: ContainerSpec): HandlerTarget {
    const { runtime, nodeAddress } = this.#context
    const podIp = this.sandbox()?.ips[0] ?? nodeAddress
    return { runtime, containerId, container, podIp }
  }

  killDeps(): KillDeps {
    return {
      runtime: this.#context.runtime,
      clock: this.#context.clock,
      target: (id, spec) => this.target(id, spec),
      event: (type, reason, message, name) => this.event(type, reason, message, name),
    }
  }

  event(type: 'Normal' | 'Warning', reason: string, message: string, name?: string): void {
    const options = name === undefined ? {} : { fieldPath: fieldPathOf(this.#pod(), name) }
    this.#context.events.event(this.#pod(), type, reason, message, options)
  }
}
