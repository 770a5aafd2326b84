// Takes the documentation of fields, for `kubectl explain`, and of parameters out of the type files of @kubernetes/client-node
// into dist/field-docs.json. They are read as text; without them the build goes on and explain has no prose.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const gen = path.join(root, 'node_modules/@kubernetes/client-node/dist/gen')
const models = path.join(gen, 'models')
const calls = path.join(gen, 'types/ObjectParamAPI.d.ts')
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

// What parameters say depends on the action alone, and for what is connected on the options' type.
const callsByDocs = {
  parameters: [
    'ListNamespacedPod',
    'CreateNamespacedPod',
    'DeleteNamespacedPod',
    'ReadNamespacedPodLog',
  ],
  'parameters.patch': ['PatchNamespacedPod'],
  PodAttachOptions: ['ConnectGetNamespacedPodAttach'],
  PodExecOptions: ['ConnectGetNamespacedPodExec'],
  PodPortForwardOptions: ['ConnectGetNamespacedPodPortforward'],
  PodProxyOptions: ['ConnectGetNamespacedPodProxy'],
  ServiceProxyOptions: ['ConnectGetNamespacedServiceProxy'],
  NodeProxyOptions: ['ConnectGetNodeProxy'],
}

const entities = { quot: '"', amp: '&', lt: '<', gt: '>' }
const unescaped = (text) =>
  text
    .replace(/&(?:#(\d+)|#x([0-9A-F]+)|(\w+));/gi, (whole, decimal, hex, name) =>
      name === undefined
        ? String.fromCodePoint(Number(decimal ?? `0x${hex}`))
        : (entities[name] ?? whole),
    )
    .replace(/\\(['"`])/g, '$1')

/** Lines were joined by spaces: two stand for a paragraph's end, more for the next line's indentation. */
const lineBreak = / (?=- `\w+` set to)| {2}(?=[A-Z]|hexStart)| {3,5}(?=\S)/g
const breaks = { 1: '\n', 2: '\n\n', 3: '\n  ', 4: '\n\n  ', 5: '\n    ' }
/** A sentence there begins after two. */
const hasTwoSpaces = new Set(['insecureSkipTLSVerifyBackend'])
const noBreak = /(?!)/

const parametersOf = (source, call) => {
  const start = source.indexOf(`interface CoreV1Api${call}Request {`)
  const text = start < 0 ? '' : source.slice(start, source.indexOf('\n}', start))
  const fields = text.matchAll(/\/\*\*\n((?: +\*[^\n]*\n)+?) +\*\/\n +(\w+)\??:/g)
  return Object.fromEntries(
    [...fields].map(([, comment, name]) => [
      name.replace(/^_/, ''),
      unescaped(textOf(comment).replace(/\n(?:Defaults to: undefined|@\w+ .*)/g, '')).replace(
        hasTwoSpaces.has(name) ? noBreak : lineBreak,
        ({ length }) => breaks[length],
      ),
    ]),
  )
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
  const source = existsSync(calls) ? readFileSync(calls, 'utf8') : ''
  for (const [name, ofDocs] of Object.entries(callsByDocs))
    all[name] = Object.assign({}, ...ofDocs.map((call) => parametersOf(source, call)))
  mkdirSync(path.join(root, 'dist'), { recursive: true })
  writeFileSync(path.join(root, 'dist/field-docs.json'), JSON.stringify(all))
}
