/** A program that knows a user's credentials, as a kubeconfig names it (client-go, ExecConfig). */
import path from 'node:path'

/** As it stands in a kubeconfig. */
export interface ExecConfig {
  apiVersion?: string
  command?: string
  args?: string[] | null
  env?: { name?: string; value?: string }[] | null
  installHint?: string
  provideClusterInfo?: boolean
  interactiveMode?: string
}

/** What a program is told of the server, if it wants to be. */
export interface ToldCluster {
  readonly server: string
  readonly 'tls-server-name'?: string
  readonly 'insecure-skip-tls-verify'?: boolean
  readonly 'certificate-authority-data'?: string
  readonly 'proxy-url'?: string
  /** Its extension client.authentication.k8s.io/exec; null without one. */
  readonly config: unknown
}

export interface CredentialProgram {
  readonly apiVersion: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly installHint: string
  readonly interactiveMode: string
  readonly cluster?: ToldCluster
}

const beta = 'client.authentication.k8s.io/v1beta1'
const apiVersions = [beta, 'client.authentication.k8s.io/v1']
const interactiveModes = ['Never', 'IfAvailable', 'Always']

/** In the words of client-go (clientcmd, validateAuthInfo). */
const problemsOf = (user: string, exec: ExecConfig, interactiveMode: string): string[] => {
  const missing = (what: string) =>
    `${what} must be specified for ${user} to use exec authentication plugin`
  return [
    ...(exec.command ? [] : [missing('command')]),
    ...(exec.apiVersion ? [] : [missing('apiVersion')]),
    ...(exec.env?.some(({ name }) => !name) ? [missing('env variable name')] : []),
    ...(interactiveMode === '' ? [missing('interactiveMode')] : []),
    ...(interactiveMode === '' || interactiveModes.includes(interactiveMode)
      ? []
      : [`invalid interactiveMode for ${user}: ${JSON.stringify(interactiveMode)}`]),
    ...(!exec.apiVersion || apiVersions.includes(exec.apiVersion)
      ? []
      : [`exec plugin: invalid apiVersion ${JSON.stringify(exec.apiVersion)}`]),
  ]
}

/** Throws a plain Error for one that cannot be run. A command with a folder is looked up in `folder`, others in $PATH. */
export const credentialProgram = (
  exec: ExecConfig,
  { user, cluster }: { user: string; cluster: ToldCluster },
): CredentialProgram => {
  const { apiVersion = '', command = '' } = exec
  const interactiveMode = exec.interactiveMode || (apiVersion === beta ? 'IfAvailable' : '')
  const problem = problemsOf(user, exec, interactiveMode)[0]
  if (problem !== undefined) throw new Error(problem)
  return {
    apiVersion,
    command: path.normalize(command),
    args: exec.args ?? [],
    env: Object.fromEntries((exec.env ?? []).map(({ name = '', value = '' }) => [name, value])),
    installHint: exec.installHint ?? '',
    interactiveMode,
    ...(exec.provideClusterInfo ? { cluster } : {}),
  }
}
