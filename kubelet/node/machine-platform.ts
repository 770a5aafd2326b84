/** What this machine is, as Go calls it. */
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' }
export const architecture = architectures[process.arch] ?? process.arch
export const operatingSystem = process.platform === 'win32' ? 'windows' : process.platform
