/** What the configurations of admission plugins have in common. */
import { statSync } from 'node:fs'
import {
  type ClientConfig,
  type CredentialsOfUser,
  loadKubeconfig,
  loadKubeconfigUsers,
} from '#client/kubeconfig.js'
import { goFileError } from '#go/file-error.js'

/**
 * A configuration that was read but cannot be used: upstream reports it in other words than one that cannot be read.
 */
export class UnusableConfiguration extends Error {}

const checkThere = (file: string): void => {
  try {
    statSync(file)
  } catch (error) {
    throw new Error(goFileError('stat', file, error))
  }
}

/** Throws an Error. */
export const readKubeconfig = async (file: string): Promise<ClientConfig> => {
  if (file !== '') checkThere(file)
  const unusable = (): never => {
    throw new Error(
      'invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable',
    )
  }
  return file === '' ? unusable() : loadKubeconfig(file).catch(unusable)
}

/** Throws an Error. */
export const readKubeconfigUsers = (file: string): Promise<CredentialsOfUser> => {
  checkThere(file)
  return loadKubeconfigUsers(file)
}
