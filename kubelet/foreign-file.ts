/**
 * Files that others write: users of the node, and containers, which may put anything in their place. To open a FIFO would
 * wait for its other side, in one of the few threads that all files of the process share.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, readlink } from 'node:fs/promises'

/** Throws for what is no regular file. */
export const withForeignFile = async <T>(
  file: string,
  act: (handle: FileHandle, size: number) => Promise<T>,
): Promise<T> => {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const facts = await handle.stat()
    if (!facts.isFile()) throw new Error('it is no file')
    return await act(handle, facts.size)
  } finally {
    await handle.close()
  }
}

/** The whole file. Throws if it is longer, or if what was opened does not lie where it may. */
export const readForeignFile = (
  file: string,
  { bytesMax, mayLieAt = () => true }: { bytesMax: number; mayLieAt?(opened: string): boolean },
): Promise<Buffer> =>
  withForeignFile(file, async (handle, size) => {
    // A folder on the way may have become a link since somebody looked.
    const opened = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => file)
    if (!mayLieAt(opened)) throw new Error(`${opened} is outside`)
    if (size > bytesMax) throw new Error(`it is longer than ${bytesMax} bytes`)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0)
    return buffer.subarray(0, bytesRead)
  })
