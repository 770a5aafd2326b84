/** What a container's last state says about how it came to its end. */
import { constants } from 'node:os'
import { getOwn } from '#json/object.js'

export interface Terminated {
  exitCode: number
  reason?: string
  startedAt?: string
  finishedAt?: string
}

/** Reasons that tell more than the exit code. */
const byReason: Readonly<Record<string, string>> = {
  OOMKilled: 'was killed for the memory that it took',
  ContainerStatusUnknown: 'ended, and nobody knows how',
  StartError: 'could not be started',
  ContainerCannotRun: 'could not be started',
  RestartingAllContainers: 'was removed, to start again with all the others',
}

const signalBase = 128
const signalOf = (exitCode: number): string | undefined =>
  Object.entries(constants.signals).find(([, number]) => number === exitCode - signalBase)?.[0]

export const describeEnd = ({ exitCode, reason = '' }: Terminated): string => {
  const told = getOwn(byReason, reason)
  if (told !== undefined) return `${told} (${reason}, exit code ${exitCode})`
  if (exitCode === 0) return 'ended by itself or obeyed the stop signal (exit code 0)'
  const signal = signalOf(exitCode)
  if (signal === 'SIGKILL') return `was killed with SIGKILL (exit code ${exitCode})`
  return signal === undefined
    ? `ended with exit code ${exitCode}`
    : `ended by ${signal} (exit code ${exitCode})`
}
