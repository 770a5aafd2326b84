/** Upstream's poststarthook/… checks: what a server does at its start, each for what of it is done here, in upstream's order. */
import type { HealthCheck } from '#routes/healthz.js'

const names = [
  'priority-and-fairness-config-consumer',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'start-system-namespaces-controller',
  'start-cluster-authentication-info-controller',
  'start-service-ip-repair-controllers',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'priority-and-fairness-config-producer',
  'bootstrap-controller',
  'apiservice-registration-controller',
  'kube-apiserver-autoregistration',
] as const

export type PostStartHook = (typeof names)[number]

export class PostStartHooks {
  readonly #finished = new Set<PostStartHook>()

  finish(...hooks: readonly PostStartHook[]): void {
    for (const hook of hooks) this.#finished.add(hook)
  }

  /** What needs the port of the server ends after the first request may come. */
  get checks(): readonly HealthCheck[] {
    return names.map((name) => ({
      name: `poststarthook/${name}`,
      check: () => (this.#finished.has(name) ? undefined : 'not finished'),
    }))
  }
}
