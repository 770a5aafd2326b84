// The API server as a few large files in dist/bundle: loading hundreds of small modules is most of its start-up.
// Commands that are seldom used stay chunks of their own, loaded when they run; native code stays outside.
import { build } from 'esbuild'

await build({
  entryPoints: ['dist/src/main.js'],
  outdir: 'dist/bundle',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // What is loaded later comes from node_modules: esbuild gives CommonJS packages other names than Node does.
  external: [
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
  ],
  sourcemap: true,
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'external',
  logLevel: 'error',
  // Packages in CommonJS call require.
  banner: {
    js: "import { createRequire as bundleRequire } from 'node:module';const require = bundleRequire(import.meta.url);",
  },
})
