// Takes the documentation of fields, for `kubectl explain`, out of the type files of @kubernetes/client-node into
// dist/field-docs.json. They are read as text; without them the build goes on and explain has no prose.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const models = path.join(root, 'node_modules/@kubernetes/client-node/dist/gen/models')
const schemas = JSON.parse(readFileSync(path.join(root, 'openapi/data/schemas.json'), 'utf8'))

const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1)

/** `io.k8s.api.core.v1.Event` is CoreV1Event, or V1Event where no other group has one. */
const fileOf = (name) => {
  const parts = name.split('.')
  const [group = '', version = '', kind = ''] = parts.slice(-3)
  const names = [`${capital(group)}${capital(version)}${kind}`, `${capital(version)}${kind}`]
  if (name === 'io.k8s.apimachinery.pkg.version.Info') names.push('VersionInfo')
  return names.map((n) => path.join(models, `${n}.d.ts`)).find((file) => existsSync(file))
}

const textOf = (comment) =>
  comment
    .split('\n')
    .map((line) => line.replace(/^\s*\*\s?/, ''))
    .join('\n')
    .replace(/\\(['"`])/g, '$1')
    .trim()

const docsOf = (source) => {
  const docs = {}
  const ofType = /\/\*\*\n((?:\*[^\n]*\n)+)\*\/\nexport declare class/.exec(source)
  if (ofType !== null) docs[''] = textOf(ofType[1])
  for (const [, comment, name] of source.matchAll(
    /\n {4}\/\*\*\n((?: {4}\*[^\n]*\n)+) {4}\*\/\n {4}'([^']+)'\??:/g,
  ))
    docs[name.replace(/^_/, '')] = textOf(comment.replace(/^ {4}/gm, ''))
  return docs
}

if (!existsSync(models)) {
  console.error(
    'kubelevel: @kubernetes/client-node is not installed: kubectl explain will have no descriptions',
  )
} else {
  const all = {}
  for (const name of Object.keys(schemas)) {
    const file = fileOf(name)
    if (file !== undefined) all[name] = docsOf(readFileSync(file, 'utf8'))
  }
  mkdirSync(path.join(root, 'dist'), { recursive: true })
  writeFileSync(path.join(root, 'dist/field-docs.json'), JSON.stringify(all))
}
