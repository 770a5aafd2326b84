/**
 * The input of a container: a FIFO that stays open, so that clients may come and go. With stdinOnce it is the shim that
 * holds it open, until a second FIFO is opened for writing: that ends the input together with its first client.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { closeSync, constants, existsSync, openSync, rmSync } from 'node:fs'
import type { ContainerConfig } from '../../runtime.js'

type InputConfig = Pick<ContainerConfig, 'stdin' | 'stdinOnce'>

const inputOf = (state: string): string => `${state}.stdin`
const heldOf = (state: string): string => `${state}.held`

/** `state` is the path of the state files of the container, without their suffix. */
export const makeInput = (state: string, { stdin, stdinOnce }: InputConfig): void => {
  if (!stdin) return
  const files = stdinOnce ? [inputOf(state), heldOf(state)] : [inputOf(state)]
  execFileSync('mkfifo', ['-m', '600', ...files])
}

export const inputFile = (state: string, { stdin }: InputConfig): string =>
  stdin ? inputOf(state) : '/dev/null'

/** How soon it is tried again to end an input that its shim, which has just been started, does not hold yet. */
const letGoAgainMs = 50

/** Ends the input: nothing that a later client sends may reach the container. */
const letGo = (state: string): void => {
  if (!existsSync(heldOf(state))) return
  rmSync(inputOf(state), { force: true })
  try {
    closeSync(openSync(heldOf(state), constants.O_WRONLY | constants.O_NONBLOCK))
    // A shim that came for the input when it was gone has made a file of that name.
    for (const file of [inputOf(state), heldOf(state)]) rmSync(file, { force: true })
  } catch {
    // Nobody holds it: not yet, or the container has ended.
    if (!existsSync(`${state}.exit`)) setTimeout(letGo, letGoAgainMs, state).unref()
  }
}

/** Takes a client's input to the container; undefined if that has none, or has none any more. */
export const startInput = (state: string): ChildProcess | undefined => {
  if (!existsSync(inputOf(state))) return undefined
  // Writing into a FIFO that nobody reads would block a thread of ours: a process of its own may block.
  const writer = spawn('/bin/sh', ['-c', 'exec cat >"$0"', inputOf(state)], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  writer.on('error', () => {})
  // There is none when there were no descriptors for it.
  writer.stdin?.on('error', () => {
    // The container has ended.
  })
  writer.on('exit', () => letGo(state))
  return writer
}
