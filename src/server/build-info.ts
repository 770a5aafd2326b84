/** What is told of this build: at /version, as labels of a metric, and on the z-pages. */
import { packageVersion } from '#program/package-version.js'
import { type BuildInfo, gitVersionOf, versionDocument } from '#routes/version.js'

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

export const componentVersions = (build: BuildInfo) => {
  const { major, minor, gitVersion, goVersion } = versionDocument(build)
  const binaryVersion = gitVersion.replace(/^v|[-+].*$/g, '')
  return { goVersion, binaryVersion, emulationVersion: `${major}.${minor}` }
}
