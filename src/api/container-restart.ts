/** Whether a container that has ended runs again: by its own rules and policy, else by its Pod's (v1.36: ContainerShouldRestart). */

interface ContainerRestartRule {
  readonly action?: string
  readonly exitCodes?: { readonly operator?: string; readonly values?: readonly number[] }
}
export interface RestartableContainer {
  readonly name: string
  readonly restartPolicy?: string
  readonly restartPolicyRules?: readonly ContainerRestartRule[]
}

const matches = ({ exitCodes }: ContainerRestartRule, exitCode: number): boolean => {
  const named = exitCodes?.values?.includes(exitCode) ?? false
  return exitCodes?.operator === 'In' ? named : exitCodes?.operator === 'NotIn' && !named
}

/** The action of the first rule that knows the exit code: Restart, RestartAllContainers. */
export const restartAction = (
  { restartPolicy, restartPolicyRules }: RestartableContainer,
  exitCode: number,
): string | undefined =>
  // Rules without a policy of the container's own are ignored, as upstream.
  restartPolicy === undefined
    ? undefined
    : restartPolicyRules?.find((rule) => matches(rule, exitCode))?.action

export const shouldRestart = (
  container: RestartableContainer,
  podRestartPolicy: string | undefined,
  exitCode: number,
): boolean => {
  if (restartAction(container, exitCode) !== undefined) return true
  const policy = container.restartPolicy ?? podRestartPolicy ?? 'Always'
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0)
}

/** One container may ask for all of them: then no end of any is the last one. */
export const mayRestartAll = (spec: {
  readonly containers?: readonly RestartableContainer[]
  readonly initContainers?: readonly RestartableContainer[]
}): boolean =>
  [...(spec.initContainers ?? []), ...(spec.containers ?? [])].some(({ restartPolicyRules }) =>
    restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers'),
  )
