import { fileURLToPath } from 'node:url'
import { CompiledBundle } from '#commands/compiled-bundle.js'

type Module = typeof import('#server/create-server.js')

const file = fileURLToPath(new URL('../bundle/create-server.cjs', import.meta.url))
let shipped: Module | undefined

/**
 * As it is shipped, and as the command line loads it: in a third of the processor time that its single modules take. With
 * a driver of the test's own, whose errors are of the modules' class, it is the modules' server.
 */
export const createServer: Module['createServer'] = async (options) => {
  if (typeof options?.storage === 'object')
    return (await import('#server/create-server.js')).createServer(options)
  shipped ??= new CompiledBundle(file).run() as Module
  return shipped.createServer(options)
}
