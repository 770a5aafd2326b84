/**
 * Reads variables from a file that a container wrote, in the strict subset of shell syntax that upstream accepts
 * (pkg/kubelet/util/env).
 */

const invalid = (line: number, what: string): Error =>
  new Error(`invalid environment variable format at line ${line}: ${what}`)

/** Empty if the file does not have it. Lines after the variable are not checked. */
export const readVariable = (text: string, wanted: string): string => {
  const rows = text.split('\n')
  for (let row = 0; row < rows.length; row++) {
    const line = rows[row]!.replace(/^[ \t]+/, '')
    if (line === '' || line.startsWith('#')) continue
    const start = row + 1
    const [, name, value] = /^([^=]*)=(.*)$/.exec(line) ?? []
    if (name === undefined || value === undefined) throw invalid(start, "missing '='")
    if (name.trim() === '') throw invalid(start, 'empty variable name')
    if (/[ \t]$/.test(name)) throw invalid(start, "whitespace before '=' is not allowed")
    if (/^[ \t]/.test(value)) {
      // An unquoted space ends the value, as in a shell.
      if (name === wanted) return ''
      continue
    }
    if (!value.startsWith("'")) throw invalid(start, 'value must be enclosed in single quotes')
    let quoted = value.slice(1)
    while (!quoted.includes("'")) {
      row += 1
      if (row >= rows.length) throw invalid(start, 'unclosed single quote')
      quoted += `\n${rows[row]}`
    }
    const end = quoted.indexOf("'")
    if (!/^[ \t]*(#.*)?$/.test(quoted.slice(end + 1)))
      throw invalid(row + 1, 'unexpected content after closing quote')
    if (name === wanted) return quoted.slice(0, end)
  }
  return ''
}
