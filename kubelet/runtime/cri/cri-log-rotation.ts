/** A runtime writes into the log of a container until the kubelet takes the file away; upstream: pkg/kubelet/logs. */
import { rename, stat } from 'node:fs/promises'
import { limits } from '#limits'
import { rotatedLog } from '../../rotated-log.js'
import { unlessGone } from '../../unless-gone.js'

/** `reopen` makes the runtime go on in a new file. Throws if it does not. */
export const rotateLog = async (file: string, reopen: () => Promise<unknown>): Promise<void> => {
  const size = (await unlessGone(stat(file)))?.size
  // A kubelet that was killed between the two steps has left the runtime with the old one.
  if (size === undefined) {
    await reopen()
    return
  }
  if (size <= limits.containerLogBytesMax) return
  await rename(file, rotatedLog(file))
  try {
    await reopen()
  } catch (error) {
    await rename(rotatedLog(file), file)
    throw error
  }
}
