/** A profile as it is configured, defaults included. */
import {
  argumentsWithDefaults,
  type GivenArguments,
  type PluginArguments,
} from './plugin-arguments.js'
import { type ChosenPlugins, choosePlugins, type PluginSets } from './plugin-sets.js'

export interface ConfiguredProfile {
  readonly schedulerName: string
  readonly plugins: ChosenPlugins
  readonly args: PluginArguments
}

/** Throws a UsageError for plugins that cannot be chosen so. */
export const configureProfile = (
  schedulerName: string,
  { plugins, args = {} }: { plugins?: PluginSets | undefined; args?: GivenArguments } = {},
): ConfiguredProfile => ({
  schedulerName,
  plugins: choosePlugins(plugins),
  args: argumentsWithDefaults(args),
})
