/** Finds what a container's command means on this host before it is started, so that a wrong one has a clear error. */
import { accessSync, constants, statSync } from 'node:fs'
import path from 'node:path'
import { StartError } from '../../runtime.js'

const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

/** The file of a command, or a StartError with the text of a container runtime. */
export const findCommand = (command: string, searchPath: string, workingDir: string): string => {
  if (command.includes('/')) {
    const file = path.resolve(workingDir, command)
    if (isExecutable(file)) return file
    let problem = 'permission denied'
    try {
      if (statSync(file).isDirectory()) problem = 'is a directory'
    } catch {
      problem = 'no such file or directory'
    }
    throw new StartError('RunContainerError', `exec: "${command}": stat ${command}: ${problem}`)
  }
  for (const folder of searchPath.split(':')) {
    const file = path.resolve(workingDir, folder || '.', command)
    if (command !== '' && isExecutable(file)) return file
  }
  throw new StartError(
    'RunContainerError',
    `exec: "${command}": executable file not found in $PATH`,
  )
}
