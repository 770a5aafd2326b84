// Makes dist/bundle: a file each for the command line, the server, its thread that reads large YAML, the kubelet, and the
// reader of the kubelet's manifests. Loading hundreds of small modules is most of a start-up. The files are CommonJS, because
// that starts sooner, and because V8 keeps compiled code of scripts but not of modules (src/commands/compiled-bundle.ts).
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { build } from 'esbuild'

const folder = 'dist/bundle'
rmSync(folder, { recursive: true, force: true })

// What is loaded later comes from node_modules: esbuild gives CommonJS packages other names than Node does. Packages that
// are modules alone come with the bundle, since Jest cannot require them.
const external = [
  'ajv',
  'yaml',
  'prom-client',
  '@fastify/swagger',
  '@grpc/grpc-js',
  '@grpc/proto-loader',
  'croner',
  're2js',
  'ws',
]

const options = {
  outdir: folder,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  define: { 'import.meta.url': 'bundleUrl' },
  banner: { js: "const bundleUrl=require('node:url').pathToFileURL(__filename).href;" },
  sourcemap: true,
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'external',
  logLevel: 'error',
}

/** What the command line imports when it runs that command is a file of its own. */
const ownFiles = {
  name: 'own-files',
  setup: (bundle) => {
    const files = {
      '#server/create-server.js': './create-server.cjs',
      '#kubelet/main.js': './kubelet.cjs',
      '#commands/pod-manifest.js': './pod-manifest.cjs',
    }
    bundle.onResolve(
      { filter: /^#(?:server\/create-server|kubelet\/main|commands\/pod-manifest)\.js$/ },
      ({ path }) => ({
        path: files[path],
        external: true,
      }),
    )
  },
}

await build({
  ...options,
  entryPoints: { main: 'dist/src/main.js' },
  external: [...external, 'classic-level'],
  plugins: [ownFiles],
})
await build({
  ...options,
  entryPoints: { kubelet: 'dist/kubelet/main.js' },
  outExtension: { '.js': '.cjs' },
  external,
})
await build({
  ...options,
  entryPoints: { 'pod-manifest': 'dist/src/commands/pod-manifest.js' },
  outExtension: { '.js': '.cjs' },
  external,
})
await build({
  ...options,
  entryPoints: { 'yaml-thread': 'dist/src/registry/yaml/yaml-thread.js' },
  external,
})
writeFileSync(path.join(folder, 'package.json'), '{ "type": "commonjs" }\n')

/** Node's modules of timers as they are when the bundle is loaded: fake timers are put into them. */
const realTimers = {
  name: 'real-timers',
  setup: (bundle) => {
    const namespace = 'real-timers'
    bundle.onResolve({ filter: /^(?:node:)?timers(?:\/promises)?$/ }, (module) =>
      module.namespace === namespace ? { external: true } : { path: module.path, namespace },
    )
    bundle.onLoad({ filter: /.*/, namespace }, (module) => ({
      contents: `module.exports = { ...require('${module.path}') }`,
    }))
  },
}

/** classic-level without its native code. */
const nativeOutside = {
  name: 'native-outside',
  setup: (bundle) =>
    bundle.onResolve({ filter: /^\.\/binding$/ }, ({ importer }) =>
      importer.includes('classic-level')
        ? { path: 'classic-level/binding.js', external: true }
        : undefined,
    ),
}

await build({
  ...options,
  entryPoints: { 'create-server': 'dist/src/index.js' },
  outExtension: { '.js': '.cjs' },
  external,
  plugins: [nativeOutside, realTimers],
  inject: ['scripts/real-time.mjs'],
  define: { ...options.define, 'process.nextTick': 'nextTick', 'process.hrtime': 'hrtime' },
  // A script of node:vm cannot import; Node 20.19 and newer require modules of every kind.
  supported: { 'dynamic-import': false },
})

// A first start, for the compiled code that it leaves.
const data = mkdtempSync(path.join(tmpdir(), 'kubelevel-bundle-'))
const args = ['serve', '--secure-port=0', `--data-dir=${data}`]
const server = spawn(process.execPath, [path.join(folder, 'main.js'), ...args], { timeout: 60_000 })
server.stderr.once('data', () => server.kill('SIGTERM'))
server.once('close', () => rmSync(data, { recursive: true, force: true }))
