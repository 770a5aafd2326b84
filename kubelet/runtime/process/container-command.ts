/** What stands before or in place of a container's own command. */

/** What a container without a command runs: nothing, until it is told to end. */
export const pauseCommand = [
  '/bin/sh',
  '-c',
  'trap "exit 0" TERM INT; sleep 2147483647 & wait',
] as const

/** A shell drops variables whose names it could not write; env(1) hands them over. */
export const passOddNames = (env: NodeJS.ProcessEnv): string[] => {
  const odd = Object.entries(env).filter(([name]) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
  return odd.length === 0 ? [] : ['env', ...odd.map(([name, value]) => `${name}=${value}`)]
}
