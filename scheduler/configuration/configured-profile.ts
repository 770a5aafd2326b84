/** A profile as it is configured, defaults included. */
import {
  argumentsWithDefaults,
  type GivenArguments,
  type PluginArguments,
} from './plugin-arguments.js'
import { type ChosenPlugins, choosePlugins, type PluginSets } from './plugin-sets.js'

export interface ConfiguredProfile {
  readonly schedulerName: string
  /** 0: it follows from the number of nodes. */
  readonly percentageOfNodesToScore: number
  readonly plugins: ChosenPlugins
  readonly args: PluginArguments
}

/** Throws a UsageError for plugins that cannot be chosen so. */
export const configureProfile = (
  schedulerName: string,
  given: {
    percentageOfNodesToScore?: number | undefined
    plugins?: PluginSets | undefined
    args?: GivenArguments
  } = {},
): ConfiguredProfile => ({
  schedulerName,
  percentageOfNodesToScore: given.percentageOfNodesToScore ?? 0,
  plugins: choosePlugins(given.plugins),
  args: argumentsWithDefaults(given.args ?? {}),
})
