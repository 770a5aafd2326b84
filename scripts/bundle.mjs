// The program as a few large files in dist/bundle: loading hundreds of small modules is most of its start-up.
// Commands that are seldom used stay chunks of their own, loaded when they run; native code stays outside.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { build } from 'esbuild'

const folder = 'dist/bundle'
rmSync(folder, { recursive: true, force: true })

const options = {
  outdir: folder,
  bundle: true,
  platform: 'node',
  target: 'node20',
  sourcemap: true,
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'external',
  logLevel: 'error',
}
// What is loaded later comes from node_modules: esbuild gives CommonJS packages other names than Node does.
const external = [
  'classic-level',
  'ajv',
  'yaml',
  'jose',
  'prom-client',
  '@fastify/swagger',
  '@grpc/grpc-js',
  '@grpc/proto-loader',
  'croner',
  're2js',
  'ws',
]

await build({
  ...options,
  entryPoints: ['dist/src/main.js'],
  splitting: true,
  format: 'esm',
  // The server is the other bundle.
  external: [...external, '#server/create-server.js'],
  // Packages in CommonJS call require.
  banner: {
    js: "import { createRequire as bundleRequire } from 'node:module';const require = bundleRequire(import.meta.url);",
  },
})

// In CommonJS, because V8 keeps compiled code of scripts and not of modules (src/server/compiled-bundle.ts).
await build({
  ...options,
  entryPoints: ['dist/src/server/create-server.js'],
  outExtension: { '.js': '.cjs' },
  format: 'cjs',
  external,
  define: { 'import.meta.url': 'bundleUrl' },
  // A script of node:vm cannot import; Node 20.19 and newer require modules of every kind.
  supported: { 'dynamic-import': false },
  banner: { js: "const bundleUrl=require('node:url').pathToFileURL(__filename).href;" },
})

// A first start, for the compiled code that it leaves.
const data = mkdtempSync(path.join(tmpdir(), 'kubelevel-bundle-'))
const args = ['serve', '--secure-port=0', `--data-dir=${data}`]
const server = spawn(process.execPath, [path.join(folder, 'main.js'), ...args])
server.stderr.once('data', () => server.kill('SIGTERM'))
server.once('close', () => rmSync(data, { recursive: true, force: true }))
