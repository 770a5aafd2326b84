/**
 * Upstream's checks poststarthook/…, in its order. Each succeeds once the matching step of this server's start is done.
 */
import type { HealthCheck } from '#api/health-checks.js'

const names = [
  'start-apiserver-admission-initializer',
  'generic-apiserver-start-informers',
  'priority-and-fairness-config-consumer',
  'priority-and-fairness-filter',
  'max-in-flight-filter',
  'storage-object-count-tracker-hook',
  'start-apiextensions-informers',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'start-system-namespaces-controller',
  'peer-endpoint-reconciler-controller',
  'start-cluster-authentication-info-controller',
  'start-kube-apiserver-identity-lease-controller',
  'start-kube-apiserver-identity-lease-garbage-collector',
  'storage-readiness',
  'start-legacy-token-tracking-controller',
  'start-service-ip-repair-controllers',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'priority-and-fairness-config-producer',
  'bootstrap-controller',
  'start-kubernetes-service-cidr-controller',
  'start-kube-aggregator-informers',
  'apiservice-status-local-available-controller',
  'apiservice-status-remote-available-controller',
  'apiservice-registration-controller',
  'apiservice-discovery-controller',
  'kube-apiserver-autoregistration',
  'autoregister-completion',
  'apiservice-openapi-controller',
  'apiservice-openapiv3-controller',
] as const

const informers = [
  'generic-apiserver-start-informers',
  'start-apiextensions-informers',
  'start-kube-aggregator-informers',
] as const

type PostStartHook = (typeof names)[number]

export class PostStartHooks {
  readonly #finished = new Set<PostStartHook>()
  readonly #names: readonly PostStartHook[]

  /** `without`: hooks for which this server has nothing to do. */
  constructor(without: readonly PostStartHook[] = []) {
    this.#names = names.filter((name) => !without.includes(name))
  }

  finish(...hooks: readonly PostStartHook[]): void {
    for (const hook of hooks) this.#finished.add(hook)
  }

  /** Whether everything that the server follows has been listed once. */
  get informersSynced(): boolean {
    return informers.every((hook) => this.#finished.has(hook))
  }

  /** Some hooks need the port, and so finish only after the first request may have come. */
  get checks(): readonly HealthCheck[] {
    return this.#names.map((name) => ({
      // Not a hook itself: it waits for the work that the hook before it began.
      name: name === 'autoregister-completion' ? name : `poststarthook/${name}`,
      check: () => (this.#finished.has(name) ? undefined : 'not finished'),
    }))
  }
}
