/** What is read of a file or folder that somebody may remove meanwhile; undefined when there is none any more. */
export const unlessGone = async <T>(reading: Promise<T>): Promise<T | undefined> => {
  try {
    return await reading
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
