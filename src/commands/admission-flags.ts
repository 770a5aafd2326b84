/** The flags of admission, with kube-apiserver's names. */
import { type Flag, type Flags, UsageError } from '#program/flags.js'
import type { ServerOptions } from '#server/options.js'
import { admissionPluginNames } from './admission-plugin-names.js'

const plugin = (value: string): string | undefined =>
  value === '' || admissionPluginNames.has(value) ? undefined : 'there is no such admission plugin'

export const admissionFlags: readonly Flag[] = [
  {
    name: 'enable-admission-plugins',
    type: 'strings',
    check: plugin,
    help: 'admission plugins to enable besides the default ones, e.g. NodeRestriction',
  },
  {
    name: 'disable-admission-plugins',
    type: 'strings',
    check: plugin,
    help: 'admission plugins to disable',
  },
  {
    name: 'admission-control-config-file',
    type: 'string',
    help: 'file with an AdmissionConfiguration (apiserver.config.k8s.io/v1), which configures admission plugins',
  },
]

type AdmissionOptions = Pick<
  ServerOptions,
  'admissionControlConfigFile' | 'disableAdmissionPlugins' | 'enableAdmissionPlugins'
>

/** Throws a UsageError for a plugin that is both enabled and disabled. */
export const admissionOptionsOf = (flags: Flags): AdmissionOptions => {
  const enableAdmissionPlugins = flags.list('enable-admission-plugins') ?? []
  const disableAdmissionPlugins = flags.list('disable-admission-plugins') ?? []
  const both = enableAdmissionPlugins.filter((name) => disableAdmissionPlugins.includes(name))
  if (both.length > 0)
    throw new UsageError(
      `[${both.join(' ')}] in enable-admission-plugins and disable-admission-plugins overlapped`,
    )
  return {
    enableAdmissionPlugins,
    disableAdmissionPlugins,
    admissionControlConfigFile: flags.text('admission-control-config-file') || undefined,
  }
}
