/** What stands before or in place of a container's own command. */

/** What a container without a command runs: nothing, until it is told to end. */
export const pauseCommand = [
  '/bin/sh',
  '-c',
  'trap "exit 0" TERM INT; sleep 2147483647 & wait',
] as const

/** Before a number: a variable of the shim's own. */
export const oddVariable = 'KUBELEVEL_ODD_'

/**
 * A shell drops variables whose names it could not write. It gets each whole, in a variable of a name that it can, and how
 * many there are: what the shell's command line holds is seen by everybody, for as long as the container runs.
 */
export const wrapOddNames = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const entries = Object.entries(env)
  const isOdd = ([name]: readonly [string, unknown]) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)
  const odd = entries
    .filter(isOdd)
    .map(([name, value], i) => [`${oddVariable}${i + 1}`, `${name}=${value}`])
  if (odd.length === 0) return env
  const rest = entries.filter((entry) => !isOdd(entry))
  return Object.fromEntries([...rest, ...odd, [`${oddVariable}COUNT`, String(odd.length)]])
}
