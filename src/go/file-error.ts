/** Why a file could not be read, as Go's os package says it: `open a.yaml: no such file or directory`. */
import { getSystemErrorMap } from 'node:util'

/** For two errors libuv has words of its own. */
const words: Readonly<Record<string, string>> = {
  EISDIR: 'is a directory',
  ENOTDIR: 'not a directory',
}

export const goFileError = (action: 'open' | 'stat', path: string, error: unknown): string => {
  const { code = '', errno = 0, message } = error as NodeJS.ErrnoException
  return `${action} ${path}: ${words[code] ?? getSystemErrorMap().get(errno)?.[1] ?? message}`
}
