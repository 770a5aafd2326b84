/** Which Kubernetes this build answers as: at /version, as labels of a metric, and on the z-pages. */
import { packageVersion } from '#program/package-version.js'

export interface BuildInfo {
  gitVersion: string
  nodeVersion: string
  platform: string
}

const kubernetesMinor = 36
const kubernetesPatch = 3
const kubernetesVersion = `1.${kubernetesMinor}.${kubernetesPatch}`

/** The build metadata names kubelevel, whose own version is `ownVersion`. */
const gitVersionOf = (ownVersion: string): string => `v${kubernetesVersion}+kubelevel.${ownVersion}`

const suffix = /^(-[\dA-Za-z-]+(\.[\dA-Za-z-]+)*)?(\+[\dA-Za-z-]+(\.[\dA-Za-z-]+)*)?$/

/** What is wrong with a version to be told in place of that one (component-base, version/dynamic.go). */
export const gitVersionProblem = (version: string): string | undefined => {
  const own = `v${kubernetesVersion}`
  return version.startsWith(own) && suffix.test(version.slice(own.length))
    ? undefined
    : `must be ${own}, and may have a pre-release or build metadata behind it`
}

export const versionDocument = ({ gitVersion, nodeVersion, platform }: BuildInfo) => ({
  major: '1',
  minor: String(kubernetesMinor),
  emulationMajor: '1',
  emulationMinor: String(kubernetesMinor),
  minCompatibilityMajor: '1',
  minCompatibilityMinor: String(kubernetesMinor - 1),
  gitVersion,
  gitCommit: '',
  gitTreeState: '',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: `node${nodeVersion}`,
  compiler: 'v8',
  platform,
})

/** `gitVersion` defaults to what this package is. */
export const buildInfo = (gitVersion = gitVersionOf(packageVersion())): BuildInfo => ({
  gitVersion,
  nodeVersion: process.versions.node,
  platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
})

export const buildLabels = (build: BuildInfo): Record<string, string> => {
  const { major, minor, gitVersion, platform, goVersion, compiler } = versionDocument(build)
  return {
    major,
    minor,
    git_version: gitVersion,
    git_commit: '',
    git_tree_state: '',
    build_date: '',
    go_version: goVersion,
    compiler,
    platform,
  }
}
