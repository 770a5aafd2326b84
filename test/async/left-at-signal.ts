import { getEventListeners } from 'node:events'

/** What is left at a signal: listeners, and what Node 20 keeps of signals that follow it. */
export const leftAtSignal = (signal: AbortSignal): number => {
  const followers = Object.getOwnPropertySymbols(signal)
    .filter(({ description }) => description === 'kDependantSignals')
    .map((symbol) => Reflect.get(signal, symbol)?.size ?? 0)
  return getEventListeners(signal, 'abort').length + (followers[0] ?? 0)
}
