/**
 * Plugins of the kubelet: each has a socket in the folder `plugins_registry`, is asked there who it is, registered with
 * the handler of its type, and deregistered when its socket goes. Upstream: pkg/kubelet/pluginmanager.
 */
import type { Dirent } from 'node:fs'
import { mkdir, readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { withOwnSignal } from '#async/own-signal.js'
import { whenAborted } from '#async/sleep.js'
import { messageOf } from '#client/errors.js'
import type { Log } from '#client/log.js'
import { getOwn } from '#json/object.js'
import { followFolder } from '../follow-folder.js'
import { unlessGone } from '../unless-gone.js'
import { untilDone } from '../until-done.js'

export interface Plugin {
  readonly name: string
  /** The socket that serves it. */
  readonly endpoint: string
  readonly versions: readonly string[]
}
export interface PluginHandler {
  /** Throws why the kubelet does not want it. */
  validate(plugin: Plugin): void
  register(plugin: Plugin): Promise<void>
  deregister(plugin: Plugin): Promise<void>
}

interface RegistryOptions {
  readonly folder: string
  /** By type: CSIPlugin, DRAPlugin. */
  readonly handlers: Readonly<Record<string, PluginHandler>>
  readonly log: Log
}

/** The folder is also watched. */
const checkMs = 20_000
/** Upstream's back-off of operations, per socket. */
const retryMs = { baseMs: 500, maxMs: 122_000 }

interface Followed {
  /** Tells a socket that was made anew from the one before. */
  readonly identity: string
  readonly gone: AbortController
  readonly over: Promise<void>
}

export class PluginRegistry {
  readonly #options: RegistryOptions
  readonly #followed = new Map<string, Followed>()
  #folders: readonly string[]

  constructor(options: RegistryOptions) {
    this.#options = options
    this.#folders = [options.folder]
  }

  /** Until the signal fires. Plugins stay registered then: the next kubelet finds them. */
  async run(signal: AbortSignal): Promise<void> {
    await mkdir(this.#options.folder, { recursive: true, mode: 0o755 })
    const paths = () => this.#folders
    const look = () =>
      this.#look(signal).catch((error) => {
        this.#options.log.warn({ error: messageOf(error) }, 'plugins were not looked for')
      })
    await followFolder(look, { paths, checkMs, signal })
  }

  async #look(signal: AbortSignal): Promise<void> {
    const folders: string[] = []
    const found = new Map<string, string>()
    await this.#collect(this.#options.folder, folders, found)
    this.#folders = folders
    for (const [socket, { identity, gone }] of this.#followed)
      if (found.get(socket) !== identity) gone.abort()
    for (const [socket, identity] of found) {
      const before = this.#followed.get(socket)
      if (before?.identity === identity) continue
      const gone = new AbortController()
      const over = (before?.over ?? Promise.resolve())
        .then(() =>
          withOwnSignal(signal, (own) => {
            void whenAborted(gone.signal).then(() => own.abort())
            return this.#follow(socket, own.signal, signal)
          }),
        )
        .finally(() => {
          if (this.#followed.get(socket)?.gone === gone) this.#followed.delete(socket)
        })
      this.#followed.set(socket, { identity, gone, over })
    }
  }

  /** Sockets in the folder and below; names that begin with a dot do not count. */
  async #collect(folder: string, folders: string[], found: Map<string, string>): Promise<void> {
    folders.push(folder)
    const entries: Dirent[] = (await unlessGone(readdir(folder, { withFileTypes: true }))) ?? []
    for (const entry of entries) {
      const name = path.join(folder, entry.name)
      if (entry.name.startsWith('.')) continue
      if (entry.isDirectory()) await this.#collect(name, folders, found)
      else if (entry.isSocket()) {
        const facts = await unlessGone(stat(name))
        if (facts) found.set(name, `${facts.ino}/${facts.birthtimeMs}`)
      }
    }
  }

  /** One socket, until it is gone or the kubelet ends. */
  async #follow(socket: string, ended: AbortSignal, stopped: AbortSignal): Promise<void> {
    const { log } = this.#options
    await untilDone(
      async () => {
        const { handler, plugin } = await this.#register(socket, stopped)
        log.info({ plugin: plugin.name, socket }, 'a plugin has registered')
        await whenAborted(ended)
        await this.#deregister(handler, plugin, stopped)
      },
      (error) => log.warn({ socket, error: messageOf(error) }, 'a plugin was not registered'),
      { signal: ended, retryMs },
    )
  }

  /** Tried again until it is done: the API must not go on naming a plugin that is gone. */
  async #deregister(handler: PluginHandler, plugin: Plugin, stopped: AbortSignal): Promise<void> {
    const { log } = this.#options
    const { name } = plugin
    const isDone = await untilDone(
      () => handler.deregister(plugin),
      (error) =>
        log.warn({ plugin: name, error: messageOf(error) }, 'a plugin was not deregistered'),
      { signal: stopped, retryMs },
    )
    if (isDone) log.info({ plugin: name }, 'a plugin is gone')
  }

  async #register(
    socket: string,
    stopped: AbortSignal,
  ): Promise<{ handler: PluginHandler; plugin: Plugin }> {
    const { RegistrationClient } = await import('./registration-client.js')
    const client = new RegistrationClient(socket)
    const refuse = async (text: string): Promise<never> => {
      const message = `RegisterPlugin error -- ${text}`
      await client.notify(message)
      throw new Error(message)
    }
    try {
      const { type, name, endpoint, supported_versions: versions } = await client.info()
      const handler = getOwn(this.#options.handlers, type)
      if (!handler)
        return await refuse(`no handler registered for plugin type: ${type} at socket ${socket}`)
      const plugin = { name, endpoint: endpoint || socket, versions }
      try {
        handler.validate(plugin)
      } catch (error) {
        return await refuse(`plugin validation failed with err: ${messageOf(error)}`)
      }
      try {
        await handler.register(plugin)
      } catch (error) {
        return await refuse(`plugin registration failed with err: ${messageOf(error)}`)
      }
      try {
        await client.notify('')
      } catch (error) {
        await this.#deregister(handler, plugin, stopped)
        throw error
      }
      return { handler, plugin }
    } finally {
      client.close()
    }
  }
}
