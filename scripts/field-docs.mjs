// Collects documentation for `kubectl explain` in dist/field-docs.json, out of the type files of two packages: types and fields
// from kubernetes-models; parameters, apiVersion and kind, which that does not describe, from @kubernetes/client-node. The files
// are read as text. Without them the build goes on, and explain has no prose.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const models = ['kubernetes-models', '@kubernetes-models/apimachinery'].map((name) =>
  path.join(root, 'node_modules', name),
)
const gen = path.join(root, 'node_modules/@kubernetes/client-node/dist/gen')
const calls = path.join(gen, 'types/ObjectParamAPI.d.ts')
const schemas = JSON.parse(readFileSync(path.join(root, 'openapi/data/schemas.json'), 'utf8'))

const textOf = (comment) =>
  comment
    .split('\n')
    .map((line) => line.replace(/^\s*\*\s?/, ''))
    .join('\n')
    .replace(/\n@deprecated\s*$/, '')
    .replace(/\\([*/])/g, '$1')
    .trim()

/** Comments of classes and their fields, in the form of both packages. */
const docsOf = (source) => {
  const docs = {}
  const ofType =
    /\/\*\*\n((?: ?\*[^\n]*\n)+?) ?\*\/\nexport (?:declare class|interface|type) /.exec(source)
  if (ofType !== null) docs[''] = textOf(ofType[1])
  for (const [, comment, name] of source.matchAll(
    /\n {4}\/\*\*\n((?: {4,5}\*[^\n]*\n)+?) {4,5}\*\/\n {4}['"]([^'"]+)['"]\??:/g,
  ))
    docs[name] = textOf(comment)
  return docs
}

/** `io.k8s.api.apps.v1.Deployment` is exported as IoK8sApiAppsV1Deployment too. */
const exportedName = (schema) => schema.replace(/[.-]/g, '').toLowerCase()

const modelDocs = () => {
  const docs = new Map()
  for (const folder of models.filter((folder) => existsSync(folder))) {
    for (const file of readdirSync(folder, { recursive: true })) {
      if (!file.endsWith('.d.ts')) continue
      const source = readFileSync(path.join(folder, file), 'utf8')
      const name = /\b(Io[A-Z]\w+)(?: as default)? \};?\s*$/.exec(source)?.[1]
      if (name !== undefined) docs.set(name.toLowerCase(), docsOf(source))
    }
  }
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

const readIfThere = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '')

const ofModels = modelDocs()
const { apiVersion, kind } = docsOf(readIfThere(path.join(gen, 'models/V1Pod.d.ts')))
const source = readIfThere(calls)
if (ofModels.size === 0 || source === '')
  console.error(
    'kubelevel: kubernetes-models or @kubernetes/client-node is not installed: kubectl explain will lack descriptions',
  )

const all = {}
for (const [name, { properties }] of Object.entries(schemas)) {
  const ofType = properties?.apiVersion && properties.kind ? { apiVersion, kind } : {}
  all[name] = { ...ofType, ...ofModels.get(exportedName(name)) }
}
for (const [name, ofDocs] of Object.entries(callsByDocs))
  all[name] = Object.assign({}, ...ofDocs.map((call) => parametersOf(source, call)))
mkdirSync(path.join(root, 'dist'), { recursive: true })
writeFileSync(path.join(root, 'dist/field-docs.json'), JSON.stringify(all))
