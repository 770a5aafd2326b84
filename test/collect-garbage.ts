import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** What buffers held is freed a little later, in a thread of V8's own. */
export const collectGarbage = runInNewContext('gc') as () => void
