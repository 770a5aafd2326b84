/** What is read from a file or folder that somebody may remove meanwhile; undefined if it is gone. */
export const unlessGone = async <T>(reading: Promise<T>): Promise<T | undefined> => {
  try {
    return await reading
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
