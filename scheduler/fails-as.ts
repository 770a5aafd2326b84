import { messageOf } from '#client/errors.js'

/** What goes wrong while it acts is told with where. */
export const failsAs = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
  try {
    return await act()
  } catch (error) {
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error })
  }
}
