/** Upstream's own conformance suite, built from the Go module of the release that the server is a server of. */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

export const release = '1.36.3'
/** Its parts that are modules of their own have this version. */
const partsRelease = `v${release.replace('1.', '0.')}`

interface Suite {
  /** The tests. */
  readonly tests: string
  /** What runs them, several at once. */
  readonly ginkgo: string
  /** Some tests call it. */
  readonly kubectl: string
}

const moduleFolder = (): string => {
  const args = ['mod', 'download', '-json', `k8s.io/kubernetes@v${release}`]
  return JSON.parse(execFileSync('go', args, { encoding: 'utf8' })).Dir
}

/** The release's own list of modules, with its parts where they are published. */
const writeModule = (folder: string): void => {
  const source = moduleFolder()
  const list = readFileSync(path.join(source, 'go.mod'), 'utf8')
    .replace(/^module .*/m, 'module e2e')
    .replace(/=> \.\/staging\/src\/(\S+)/g, `=> $1 ${partsRelease}`)
  writeFileSync(path.join(folder, 'go.mod'), `${list}\nrequire k8s.io/kubernetes v${release}\n`)
  copyFileSync(path.join(source, 'go.sum'), path.join(folder, 'go.sum'))
}

/** Builds in this folder what is not there yet; the first time takes half an hour of two cores. */
export const buildSuite = (folder: string): Suite => {
  const suite = {
    tests: path.join(folder, 'e2e.test'),
    ginkgo: path.join(folder, 'ginkgo'),
    kubectl: path.join(folder, 'kubectl'),
  }
  const version = 'k8s.io/component-base/version'
  const [major, minor] = release.split('.')
  const flags = `-s -w -X ${version}.gitVersion=v${release} -X ${version}.gitMajor=${major} -X ${version}.gitMinor=${minor}`
  const env = { ...process.env, GOFLAGS: '-mod=mod', CGO_ENABLED: '0' }
  const build = (file: string, ...args: string[]): void => {
    if (existsSync(file)) return
    if (!existsSync(path.join(folder, 'go.mod'))) {
      mkdirSync(folder, { recursive: true })
      writeModule(folder)
    }
    process.stdout.write(`building ${file}\n`)
    const what = [...args.slice(0, -1), '-ldflags', flags, '-o', file, args.at(-1)!]
    const { status } = spawnSync('go', what, { cwd: folder, env, stdio: ['ignore', 2, 2] })
    if (status !== 0) throw new Error(`go ${what.join(' ')} ended with ${status}`)
  }
  build(suite.kubectl, 'build', 'k8s.io/kubernetes/cmd/kubectl')
  build(suite.ginkgo, 'build', 'github.com/onsi/ginkgo/v2/ginkgo')
  // Without -vet=off the whole of Kubernetes is looked through once more.
  build(suite.tests, 'test', '-c', '-vet=off', 'k8s.io/kubernetes/test/e2e')
  return suite
}
