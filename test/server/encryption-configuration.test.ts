/** Files of --encryption-provider-config: what is wrong with them in kube-apiserver's words. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { packageRoot } from '#program/package-root.js'
import { parseEncryption } from '#server/encryption/configuration.js'
import { makeTransformers } from '#server/encryption/make-transformers.js'
import { EncryptionFigures } from '#storage/encrypted/figures.js'

/** What kube-apiserver 1.36.3 said of each; null: it took it. */
const recorded: Record<string, { text: string; problem: string | null }> = JSON.parse(
  readFileSync(new URL('test/server/encryption-recorded.json', packageRoot), 'utf8'),
)

const problemOf = async (text: string): Promise<string | null> => {
  const figures = new EncryptionFigures(systemClock.now)
  try {
    const configuration = parseEncryption({ file: 'FILE', text }, false)
    const deps = { figures, clock: systemClock, warn: () => {} }
    const made = await makeTransformers(configuration, deps)
    made.close()
    return null
  } catch (error) {
    return (error as Error).message
  }
}

t.test('a file is taken or refused as kube-apiserver does', async (t) => {
  for (const [name, { text, problem }] of Object.entries(recorded))
    t.equal(await problemOf(text), problem, name)
})
