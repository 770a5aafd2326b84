/** The rules of the repository that a machine can hold: layers, sizes, names, and who may ask the time. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
const { include: sourceFolders }: { include: string[] } = JSON.parse(
  readFileSync(path.join(root, 'tsconfig.json'), 'utf8'),
)

const files = sourceFolders
  .filter((folder) => existsSync(path.join(root, folder)))
  .flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
      path.posix.join(folder, file.split(path.sep).join('/')),
    ),
  )
  .filter((file) => file.endsWith('.ts'))
  .sort()

const text = new Map(files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]))

/** Layer of a file: the longest prefix wins. The names are those of mayImport. */
const layerOf = (file: string): string => {
  const layers = [
    ['src/limits.ts', 'leaf'],
    ['src/go/', 'leaf'],
    ['src/json/', 'leaf'],
    ['src/async/', 'leaf'],
    ['src/collections/', 'leaf'],
    ['src/net/', 'leaf'],
    ['src/metrics/', 'leaf'],
    ['src/program/', 'leaf'],
    ['src/api/', 'api'],
    ['src/cel/', 'cel'],
    ['src/cacher/', 'cacher'],
    ['src/registry/', 'registry'],
    ['src/admission/', 'registry'],
    ['src/validation/', 'registry'],
    ['src/webhook/', 'registry'],
    ['src/kinds/', 'kinds'],
    ['src/crd/', 'crd'],
    ['src/authn/', 'access'],
    ['src/authz/', 'access'],
    ['src/audit/', 'access'],
    ['src/flowcontrol/', 'access'],
    ['src/filters/', 'access'],
    ['src/client/', 'client'],
    ['src/component/', 'component'],
    ['src/timeline/', 'process'],
    ['src/commands/', 'commands'],
    ['src/main.ts', 'commands'],
    ['src/', 'server'],
    ['routes/', 'routes'],
    ['storage/', 'storage'],
    ['openapi/', 'openapi'],
    ['controllers/', 'process'],
    ['kubelet/', 'process'],
    ['scheduler/', 'process'],
    ['metrics-server/', 'process'],
    ['dashboard/', 'process'],
    ['test/', 'test'],
    ['bench/', 'test'],
  ] as const
  return layers.find(([prefix]) => file.startsWith(prefix))?.[1] ?? 'none'
}

const low = ['leaf', 'api'] as const

const belowServer = [
  ...low,
  'cel',
  'storage',
  'openapi',
  'cacher',
  'registry',
  'kinds',
  'crd',
] as const

const mayImport: Record<string, readonly string[]> = {
  leaf: ['leaf'],
  api: [...low],
  storage: [...low, 'storage'],
  openapi: [...low, 'openapi'],
  cel: [...low, 'cel'],
  cacher: [...low, 'storage', 'openapi', 'cacher'],
  registry: [...low, 'cel', 'storage', 'openapi', 'cacher', 'registry'],
  kinds: [...low, 'cel', 'openapi', 'cacher', 'registry', 'kinds'],
  crd: [...low, 'cel', 'openapi', 'cacher', 'registry', 'crd'],
  routes: [...low, 'openapi', 'cacher', 'registry', 'routes'],
  access: [...low, 'cel', 'cacher', 'registry', 'access'],
  // Of client-go's there are the work queue and names of errors.
  server: [...belowServer, 'routes', 'access', 'client', 'server'],
  client: [...low, 'client'],
  component: [...low, 'client', 'component'],
  // CEL checks the expressions of policies for their status.
  process: [...low, 'cel', 'client', 'component', 'process'],
}

const importsOf = (source: string): string[] =>
  [...source.matchAll(/^\s*(?:import|export)\b[^'"]*?from\s+['"]([^'"]+)['"]/gm)]
    .map((m) => m[1]!)
    .concat([...source.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g)].map((m) => m[1]!))

const packageImports: Record<string, string> = JSON.parse(
  readFileSync(path.join(root, 'package.json'), 'utf8'),
).imports

/** The source file that an import means; undefined for packages and Node's own modules. */
const resolve = (from: string, specifier: string): string | undefined => {
  if (specifier.startsWith('.')) {
    return path.posix.join(path.posix.dirname(from), specifier).replace(/\.js$/, '.ts')
  }
  if (!specifier.startsWith('#')) return undefined
  for (const [pattern, target] of Object.entries(packageImports)) {
    const plain = target.replace('./dist/', '')
    if (pattern === specifier) return plain.replace(/\.js$/, '.ts')
    if (pattern.endsWith('/*') && specifier.startsWith(pattern.slice(0, -1))) {
      return plain.replace('*', specifier.slice(pattern.length - 1)).replace(/\.js$/, '.ts')
    }
  }
  return undefined
}

t.test('each layer imports only what stands below it', (t) => {
  const crossings: string[] = []
  for (const [file, source] of text) {
    const allowed = mayImport[layerOf(file)]
    if (!allowed) continue
    for (const specifier of importsOf(source)) {
      const target = resolve(file, specifier)
      if (target && !allowed.includes(layerOf(target))) crossings.push(`${file} -> ${target}`)
    }
  }
  t.same(crossings, [])
  t.end()
})

t.test(
  'only the storage folder opens a driver, and only routes, filters and the server know Fastify',
  (t) => {
    const wrong: string[] = []
    for (const [file, source] of text) {
      const layer = layerOf(file)
      for (const specifier of importsOf(source)) {
        const target = resolve(file, specifier)
        if (
          target?.match(/^storage\/(memory|level|etcd)\//) &&
          !['storage', 'test', 'server'].includes(layer)
        )
          wrong.push(`${file} -> ${target}`)
        if (
          specifier === 'fastify' &&
          !['routes', 'access', 'server', 'test', 'process'].includes(layer)
        )
          wrong.push(`${file} -> fastify`)
        if (target?.startsWith('src/main.ts')) wrong.push(`${file} -> ${target}`)
      }
    }
    t.same(wrong, [])
    t.end()
  },
)

t.test('file names are kebab-case and say what they hold', (t) => {
  const vague = /^(utils?|helpers?|common|misc|manager|service)\.ts$/
  const wrong = files.filter((file) => {
    const name = path.basename(file).replace(/\.test\.ts$/, '.ts')
    // Service is a kind of Kubernetes.
    return (
      (vague.test(name) && file !== 'src/kinds/core/service.ts') ||
      !/^[a-z0-9]+(-[a-z0-9]+)*\.ts$/.test(name)
    )
  })
  t.same(wrong, [])
  t.end()
})

t.test('time, chance, environment and console are handed in, not reached for', (t) => {
  const reach = /\b(Date\.now\(|new Date\(\)|Math\.random\(|process\.env\b|console\.)/
  // A program for credentials gets our environment and more.
  const mayReach =
    /^(src\/main\.ts|src\/api\/clock\.ts|src\/cacher\/mutation-detector\.ts|src\/client\/program-credentials\.ts|test\/|bench\/)/
  const wrong = [...text]
    .filter(([file]) => !mayReach.test(file) && !/(^|\/)main\.ts$/.test(file))
    .flatMap(([file, source]) =>
      source
        .split('\n')
        .map((line, i) => ({ line, at: `${file}:${i + 1}` }))
        .filter(({ line }) => reach.test(line) && !/^\s*(\*|\/\/)/.test(line))
        .map(({ at }) => at),
    )
  t.same(wrong, [])
  t.end()
})

t.test(
  'every bound is in src/limits.ts; what an object may hold stands beside the rule of its kind',
  (t) => {
    const bound = /^(?:export )?const [A-Za-z]+(?:Max|Kept) = [-\d]/
    const mayBound = /^(src\/limits\.ts$|src\/kinds\/|src\/validation\/|test\/|bench\/)/
    const wrong = [...text]
      .filter(([file]) => !mayBound.test(file))
      .flatMap(([file, source]) =>
        source
          .split('\n')
          .filter((line) => bound.test(line))
          .map((line) => `${file}: ${line}`),
      )
    t.same(wrong, [])
    t.end()
  },
)

t.test('signals of their own leave nothing behind at one that lives on', (t) => {
  // They are made once in a process.
  const may = ['src/client/leader-election.ts', 'src/timeline/follow.ts']
  const using = [...text].filter(([file, source]) => {
    return layerOf(file) !== 'test' && /^(?!\s*(\*|\/[/*])).*AbortSignal\.any\(/m.test(source)
  })
  t.same(
    using.map(([file]) => file),
    may,
  )
  t.end()
})

t.test('a test file waits for nothing between its tests: tap ends when it has none left', (t) => {
  const waits = /^t\.test\([\s\S]*^(?:const [^=\n]*= )?await (?!t\.test\()/m
  t.same(
    files.filter((file) => file.endsWith('.test.ts') && waits.test(text.get(file)!)),
    [],
  )
  t.end()
})

/** Sets of files each of which imports, by way of others of them, itself. */
const circlesOf = (imports: ReadonlyMap<string, readonly string[]>): string[][] => {
  const reached = new Map<string, Set<string>>()
  for (const file of imports.keys()) {
    const seen = new Set<string>()
    const next = [...imports.get(file)!]
    for (let one = next.pop(); one !== undefined; one = next.pop()) {
      if (seen.has(one)) continue
      seen.add(one)
      next.push(...(imports.get(one) ?? []))
    }
    reached.set(file, seen)
  }
  const circles = [...reached].flatMap(([file, seen]) =>
    seen.has(file) ? [[...seen].filter((other) => reached.get(other)?.has(file)).sort()] : [],
  )
  return [...new Map(circles.map((circle) => [circle.join(), circle])).values()]
}

t.test('files import each other only where a recursion needs two of them', (t) => {
  const imports = new Map(
    [...text].map(([file, source]) => [
      file,
      importsOf(source).flatMap((specifier) => resolve(file, specifier) ?? []),
    ]),
  )
  t.same(circlesOf(imports), [
    // Merging maps merges lists, whose entries are maps.
    ['src/registry/patch/merge-list.ts', 'src/registry/patch/strategic.ts'],
    // A row of the table has hooks that are given a store, which is given its row.
    ['src/registry/resource-definition.ts', 'src/registry/store.ts'],
  ])
  t.end()
})

/** Which two folders of one folder an import goes from and to; undefined if a file of that folder is one of its ends. */
const foldersOf = (from: string, to: string): [string, string] | undefined => {
  const [a, b] = [from.split('/'), to.split('/')]
  const depth = a.findIndex((part, i) => part !== b[i])
  const isFolder = (parts: readonly string[]): boolean => depth < parts.length - 1
  // Those of the checkout itself are parts of layers.
  return depth > 0 && isFolder(a) && isFolder(b)
    ? [a.slice(0, depth + 1).join('/'), b.slice(0, depth + 1).join('/')]
    : undefined
}

t.test('folders side by side import each other one way', (t) => {
  const imports = new Map<string, string[]>()
  for (const [file, source] of text) {
    if (file.startsWith('test/')) continue
    for (const specifier of importsOf(source)) {
      const [from, to] = foldersOf(file, resolve(file, specifier) ?? file) ?? []
      if (from === undefined) continue
      imports.set(from, [...(imports.get(from) ?? []), to!])
    }
  }
  t.same(circlesOf(imports), [])
  t.end()
})

t.test('every file is imported by another one or is an entry point', (t) => {
  const imported = new Set<string>()
  for (const [file, source] of text) {
    for (const specifier of importsOf(source)) {
      const target = resolve(file, specifier)
      if (target) imported.add(target)
    }
    // Workers, shims and processes are started by path.
    for (const m of source.matchAll(/['"`](\.{0,2}\/?[\w./-]+\.js)['"`]/g))
      imported.add(path.posix.join(path.posix.dirname(file), m[1]!).replace(/\.js$/, '.ts'))
  }
  const entry = /^(src\/main\.ts|src\/index\.ts|test\/.*\.test\.ts|bench\/)|(^|\/)main\.ts$/
  t.same(
    files.filter((file) => !imported.has(file) && !entry.test(file)),
    [],
  )
  t.end()
})

t.test('what is exported is imported elsewhere', (t) => {
  const taken = new Set<string>()
  const namespaces = new Set<string | undefined>()
  for (const [file, source] of text) {
    for (const [, names, from] of source.matchAll(
      /(?:import|export) (?:type )?\{([^}]*)\} from '([^']+)'/g,
    ))
      for (const name of names!.split(','))
        taken.add(
          `${resolve(file, from!)} ${
            name
              .trim()
              .replace(/^type /, '')
              .split(' as ')[0]
          }`,
        )
    for (const [, from, later] of source.matchAll(/\* as \w+ from '([^']+)'|import\(\s*'([^']+)'/g))
      namespaces.add(resolve(file, (from ?? later)!))
  }
  // Processes are loaded by name when their command runs.
  const inQuotes = (name: string) => [...text.values()].some((s) => s.includes(`'${name}'`))
  const wrong = [...text].flatMap(([file, source]) =>
    [...source.matchAll(/^export (?:async )?(const|function|class|interface|type) (\w+)/gm)]
      .filter(([, what, name]) => {
        if (taken.has(`${file} ${name}`)) return false
        const isType = what === 'interface' || what === 'type'
        return isType || (!namespaces.has(file) && !inQuotes(name!))
      })
      .map(([, , name]) => `${file}: ${name}`),
  )
  t.same(wrong, [])
  t.end()
})

t.test('files stay small enough to read', (t) => {
  // A list that is looked things up in may be longer than what is read.
  const limit = (file: string) =>
    file === 'src/limits.ts' ? 600 : file.startsWith('test/') ? 800 : 400
  const long = [...text]
    .map(([file, source]) => [file, source.split('\n').length] as const)
    .filter(([file, lines]) => lines > limit(file))
    .map(([file, lines]) => `${file}: ${lines}`)
  t.same(long, [])
  t.end()
})

t.test('nothing unfinished is left in the code', (t) => {
  const marks = /\b(TODO|FIXME|XXX|HACK)\b|\bnot implemented\b/
  const wrong = [...text]
    .filter(([file]) => !file.startsWith('test/'))
    .flatMap(([file, source]) =>
      source
        .split('\n')
        .map((line, i) => ({ line, at: `${file}:${i + 1}` }))
        .filter(({ line }) => marks.test(line))
        .map(({ at }) => at),
    )
  t.same(wrong, [])
  t.end()
})
