/** How the input of a container ends together with its first client. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { makeInput, startInput } from '#kubelet/runtime/process/container-input.js'
import { eventually } from '../eventually.js'

t.test('its client may have left before anybody holds it', async (t) => {
  const state = path.join(t.testdir(), 'c')
  makeInput(state, { stdin: true, stdinOnce: true })
  const input = `${state}.stdin`
  const container = spawn('/bin/sh', ['-c', 'exec cat <"$0"', input])
  t.teardown(() => container.kill('SIGKILL'))
  const writer = startInput(state)!
  writer.stdin!.end('one\n')
  await once(writer, 'exit')
  await eventually('nobody can come after it', () => !existsSync(input))
  const shim = spawn('/bin/sh', ['-c', '{ : <"$0.held"; } 9>"$0.stdin"', state])
  t.teardown(() => shim.kill('SIGKILL'))
  await once(shim, 'exit')
  t.equal(startInput(state), undefined)
})
