/**
 * Reads variables from a file that a container wrote, in the strict subset of shell syntax that upstream accepts
 * (pkg/kubelet/util/env).
 */

const invalid = (line: number, what: string): Error =>
  new Error(`invalid environment variable format at line ${line}: ${what}`)

/** Lines as Go's scanner reads them: without the return before a newline. */
const linesOf = (text: string): string[] => text.split('\n').map((line) => line.replace(/\r$/, ''))

/** Empty if the file does not have it. Lines after the variable are not checked. */
export const readVariable = (text: string, wanted: string): string => {
  const rows = linesOf(text)
  for (let row = 0; row < rows.length; row++) {
    const line = rows[row]!.replace(/^[ \t]+/, '')
    if (line === '' || line.startsWith('#')) continue
    const start = row + 1
    const equals = line.indexOf('=')
    if (equals < 0) throw invalid(start, "missing '='")
    const name = line.slice(0, equals)
    const value = line.slice(equals + 1)
    if (name.trim() === '') throw invalid(start, 'empty variable name')
    if (/[ \t]$/.test(name)) throw invalid(start, "whitespace before '=' is not allowed")
    if (/^[ \t]/.test(value)) {
      // An unquoted space ends the value, as in a shell.
      if (name === wanted) return ''
      continue
    }
    if (!value.startsWith("'")) throw invalid(start, 'value must be enclosed in single quotes')
    const quoted: string[] = []
    let rest = value.slice(1)
    while (!rest.includes("'")) {
      quoted.push(rest)
      row += 1
      if (row >= rows.length) throw invalid(start, 'unclosed single quote')
      rest = rows[row]!
    }
    const end = rest.indexOf("'")
    if (!/^[ \t]*(?:#|$)/.test(rest.slice(end + 1)))
      throw invalid(row + 1, 'unexpected content after closing quote')
    if (name === wanted) return [...quoted, rest.slice(0, end)].join('\n')
  }
  return ''
}
