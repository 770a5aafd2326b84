/** Flags of authorization, with kube-apiserver's names and defaults. */
import { type Flag, type Flags, UsageError } from '#program/flags.js'
import type { AuthorizationMode, ServerOptions } from '#server/options.js'
import { existingFile, oneOf } from './flag-checks.js'

const modes: readonly string[] = ['AlwaysAllow', 'AlwaysDeny', 'ABAC', 'Webhook', 'RBAC', 'Node']

export const authorizationFlags: readonly Flag[] = [
  {
    name: 'authorization-mode',
    type: 'strings',
    default: 'RBAC',
    check: oneOf(modes),
    help: `${modes.join(', ')}, in order; for up Node,RBAC unless given`,
  },
  {
    name: 'authorization-policy-file',
    type: 'string',
    help: 'file of policies for mode ABAC, one JSON object per line',
  },
  {
    name: 'authorization-webhook-config-file',
    type: 'string',
    check: existingFile,
    help: 'kubeconfig of the webhook for mode Webhook',
  },
  {
    name: 'authorization-webhook-version',
    type: 'string',
    default: 'v1beta1',
    check: oneOf(['v1', 'v1beta1']),
    help: 'version of the SubjectAccessReviews sent to it',
  },
  {
    name: 'authorization-webhook-cache-authorized-ttl',
    type: 'duration',
    default: '5m0s',
    help: 'how long its answers that allow are cached',
  },
  {
    name: 'authorization-webhook-cache-unauthorized-ttl',
    type: 'duration',
    default: '30s',
    help: 'how long its other answers are cached',
  },
  {
    name: 'authorization-config',
    type: 'string',
    check: existingFile,
    help: 'file with an AuthorizationConfiguration, instead of the other authorization flags',
  },
]

/** Throws a UsageError for flags that exclude each other. */
export const authorizationOptionsOf = (flags: Flags): ServerOptions => {
  const authorizationConfigFile = flags.text('authorization-config')
  const authorizationPolicyFile = flags.text('authorization-policy-file')
  const policyFile = authorizationPolicyFile ? { authorizationPolicyFile } : {}
  if (authorizationConfigFile !== undefined) {
    const others = authorizationFlags.filter(
      ({ name }) => !['authorization-config', 'authorization-policy-file'].includes(name),
    )
    if (others.some(({ name }) => flags.isGiven(name)))
      throw new UsageError(
        '--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined',
      )
    return { authorizationConfigFile, ...policyFile }
  }
  const configFile = flags.text('authorization-webhook-config-file')
  return {
    authorizationModes: flags.list('authorization-mode') as AuthorizationMode[],
    ...policyFile,
    ...(configFile && {
      authorizationWebhook: {
        configFile,
        version: flags.text('authorization-webhook-version') as 'v1' | 'v1beta1',
        cacheAuthorizedTtlMs: flags.milliseconds('authorization-webhook-cache-authorized-ttl')!,
        cacheUnauthorizedTtlMs: flags.milliseconds('authorization-webhook-cache-unauthorized-ttl')!,
      },
    }),
  }
}
