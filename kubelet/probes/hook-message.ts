/** What a container's status says of a postStart hook that failed; upstream: pkg/kubelet/lifecycle/handlers.go. */
import { goQuote } from '#go/quote.js'
import { type ContainerSpec, formatPod, type Handler, type Pod } from '../pod.js'
import type { Outcome } from './outcome.js'

export const hookMessage = (
  pod: Pod,
  { name }: ContainerSpec,
  { exec, httpGet, sleep }: Handler,
  { message, error }: Extract<Outcome, { ok: false }>,
): string => {
  const failed = `for Container ${goQuote(name)} in Pod ${goQuote(formatPod(pod))} failed - error:`
  if (exec) {
    const output = error === undefined ? '' : message
    return `Exec lifecycle hook ([${(exec.command ?? []).join(' ')}]) ${failed} ${error ?? message}, message: ${goQuote(output)}`
  }
  if (httpGet) return `HTTP lifecycle hook (${httpGet.path}) ${failed} ${message}`
  if (sleep) return `Sleep lifecycle hook (${sleep.seconds}) ${failed} ${message}`
  return `Cannot run handler: ${message}`
}
