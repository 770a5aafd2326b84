/** An old Node lacks what the server calls, long after it has begun to start. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { packageRoot } from '#program/package-root.js'
import { mainFile } from '../main-file.js'

const { engines } = JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8')) as {
  engines: { node: string }
}

const runAs = (version: string) =>
  spawnSync(
    process.execPath,
    [
      `--import=data:text/javascript,Object.defineProperty(process,"version",{value:"${version}"})`,
      mainFile,
      '--version',
    ],
    { encoding: 'utf8' },
  )

t.test('a Node that is too old is told from the one that package.json names', async (t) => {
  t.equal(engines.node, '>=20.19')
  for (const version of ['v20.19.0', 'v22.0.0', 'v26.1.0']) {
    const { status, stdout } = runAs(version)
    t.equal(status, 0, version)
    t.match(stdout, /^kubelevel /, version)
  }
  for (const version of ['v18.20.8', 'v20.18.3']) {
    const { status, stdout, stderr } = runAs(version)
    t.equal(status, 1, version)
    t.equal(stdout, '', version)
    t.equal(stderr, `kubelevel: Node ${version} is too old: 20.19 or newer is needed\n`)
  }
})
