/** Variables in files, read as a shell reads what upstream allows of its syntax. */
import { execFileSync } from 'node:child_process'
import t from 'tap'
import { readVariable } from '#kubelet/environment/env-file.js'

const inShell = (text: string, name: string): string =>
  execFileSync('sh', ['-c', `${text}\nprintf %s "$${name}"`], { encoding: 'utf8' })

t.test('what a shell makes of it', async (t) => {
  const text = `# a comment
  INDENTED='one'

EMPTY=''
LITERAL='$HOME \\n "q" #'
LINES='first

  third' # behind
LATER='last'`
  for (const name of ['INDENTED', 'EMPTY', 'LITERAL', 'LINES', 'LATER', 'MISSING'])
    t.equal(readVariable(text, name), inShell(text, name), name)
  t.equal(readVariable("SPACED= 'x'\nNEXT='y'", 'SPACED'), '')
  t.equal(readVariable("SPACED= 'x'\nNEXT='y'", 'NEXT'), 'y')
})

t.test('what upstream refuses', async (t) => {
  const refusals = {
    WORD: "line 1: missing '='",
    "='x'": 'line 1: empty variable name',
    "A ='x'": "line 1: whitespace before '=' is not allowed",
    'A=x': 'line 1: value must be enclosed in single quotes',
    "A='x'y": 'line 1: unexpected content after closing quote',
    "A='x\ny'z": 'line 2: unexpected content after closing quote',
    "B='1'\nA='x\n": 'line 2: unclosed single quote',
  }
  for (const [text, message] of Object.entries(refusals))
    t.throws(() => readVariable(text, 'A'), {
      message: `invalid environment variable format at ${message}`,
    })
  t.equal(readVariable("A='x'\nrubbish", 'A'), 'x', 'what stands behind it is not read')
})

t.test('lines may end as on Windows, and there may be very many', async (t) => {
  t.equal(readVariable("A='x'\r\nB='y\r\nz'\r\n", 'B'), 'y\nz')
  const lines = 'line\n'.repeat(300_000)
  t.equal(readVariable(`A='${lines}'`, 'A'), lines)
})
