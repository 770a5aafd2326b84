/** What is wrong with a file of --admission-control-config-file, in the words of kube-apiserver v1.36.3, which were recorded. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readAdmissionSettings } from '#server/admission/admission-settings.js'
import { StartedParts } from '#server/started-parts.js'
import { createServer } from '../../create-server.js'
import { readRecorded } from '../../recorded.js'
import { temporaryDirectory } from '../../storage/level-fixture.js'

interface Case {
  case: string
  /** Missing: there is no file. */
  file: string | null
  enabled?: string[]
  /** Null: the server starts. */
  error: string | null
}

const recorded = readRecorded<Case[]>('server/admission/configurations')

const kubeconfigs = {
  'kc.yaml': {
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    users: [{ name: 'u', user: { token: 't' } }],
    'current-context': 'c',
  },
  'nocontext.yaml': { clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }] },
  'emptykc.yaml': {},
}

t.test('what upstream refuses is refused in its words', async (t) => {
  const folder = temporaryDirectory(t)
  for (const [name, kubeconfig] of Object.entries(kubeconfigs))
    writeFileSync(path.join(folder, name), JSON.stringify(kubeconfig))
  const file = path.join(folder, 'case.yaml')
  const here = (text: string): string => text.replaceAll('FOLDER', folder)
  for (const { case: name, file: text, enabled, error } of recorded) {
    if (text !== null) writeFileSync(file, here(text))
    const reading = readAdmissionSettings(file, { enabled }, new StartedParts())
    const problem = await reading.then(
      () => null,
      (e: Error) => e.message,
    )
    t.equal(problem, error === null ? null : here(error), name)
  }
})

t.test('a server with a file that cannot be used does not start', async (t) => {
  const file = path.join(temporaryDirectory(t), 'admission.yaml')
  writeFileSync(file, 'kind: AdmissionConfiguration\n')
  const starting = createServer({ admissionControlConfigFile: file, logLevel: 'silent' })
  await t.rejects(starting, /^failed to apply admission: failed to read plugin config: Object/)
})

t.test('a server does not start if a plugin lacks the configuration that it needs', async (t) => {
  for (const [plugin, problem] of [
    ['EventRateLimit', 'limits: Invalid value: null: must not be empty'],
    ['ImagePolicyWebhook', 'no config specified'],
  ]) {
    const starting = createServer({ enableAdmissionPlugins: [plugin!], logLevel: 'silent' })
    const message = `failed to apply admission: couldn't init admission plugin "${plugin}": ${problem}`
    await t.rejects(starting, { message })
  }
})
