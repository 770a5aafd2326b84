/** What is told of this build: at /version, as labels of a metric, and on the z-pages. */
import { packageVersion } from '#program/package-version.js'
import { versionDocument } from '#routes/version.js'

export const buildInfo = () => ({
  ownVersion: packageVersion(),
  nodeVersion: process.versions.node,
  platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
})

export const buildLabels = (): Record<string, string> => {
  const { major, minor, gitVersion, platform, goVersion, compiler } = versionDocument(buildInfo())
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

export const componentVersions = () => {
  const { major, minor, gitVersion, goVersion } = versionDocument(buildInfo())
  const binaryVersion = gitVersion.replace(/^v|\+.*$/g, '')
  return { goVersion, binaryVersion, emulationVersion: `${major}.${minor}` }
}
