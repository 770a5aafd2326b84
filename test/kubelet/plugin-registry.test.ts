/** Plugins that come and go while the API cannot be reached. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { silentLog } from '#client/log.js'
import { PluginRegistry } from '#kubelet/plugins/plugin-registry.js'
import { eventually } from '../eventually.js'
import { register } from './csi-driver.js'

t.test('a plugin that goes is deregistered, however often that fails', async (t) => {
  const root = mkdtempSync(path.join(tmpdir(), 'kubelet-plugins-'))
  t.teardown(() => rmSync(root, { recursive: true }))
  const plugin = { type: 'X', name: 'p', endpoint: '/p.sock', supported_versions: ['1'] }
  const told: string[] = []
  let failuresLeft = 2
  const registry = new PluginRegistry({
    folder: path.join(root, 'plugins_registry'),
    log: silentLog,
    handlers: {
      X: {
        validate: () => {},
        register: async ({ name }) => void told.push(`${name} is there`),
        deregister: async ({ name }) => {
          if (failuresLeft-- > 0) throw new Error('connection refused')
          told.push(`${name} is gone`)
        },
      },
    },
  })
  const stop = new AbortController()
  const unregister = await register(root, plugin)
  const running = registry.run(stop.signal)
  await eventually('its registration', () => told.length === 1)
  unregister()
  await eventually('its end', () => told.length === 2)
  t.same(told, ['p is there', 'p is gone'])
  stop.abort()
  await running
})
