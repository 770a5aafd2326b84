/** The file of --authentication-config (apiserver, pkg/apis/apiserver). */
import { readFileSync } from 'node:fs'
import type { JwtConfiguration } from '#authn/jwt/configuration.js'
import { goFileError } from '#go/file-error.js'
import { goQuote } from '#go/quote.js'
import { decodeConfiguration } from '#registry/decode-configuration.js'

/** Which requests may come without credentials. */
export interface AnonymousConfiguration {
  readonly enabled: boolean
  /** If there are any, only these paths. */
  readonly conditions?: readonly { readonly path: string }[]
}

interface AuthenticationConfiguration {
  readonly jwt: readonly JwtConfiguration[] | null
  readonly anonymous?: AnonymousConfiguration
}

const type = 'config.v1.AuthenticationConfiguration'
const group = 'apiserver.config.k8s.io'
const types = Object.fromEntries(
  ['v1', 'v1beta1', 'v1alpha1'].map((version) => [
    `${group}/${version} AuthenticationConfiguration`,
    type,
  ]),
)

const textOf = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(goFileError('open', file, error))
  }
}

/** Throws an Error that says why not. */
export const decodeAuthentication = (text: string): AuthenticationConfiguration => {
  if (text === '') throw new Error('empty config data')
  return decodeConfiguration<AuthenticationConfiguration>(text, types).value
}

/** Throws an Error if it cannot be read; its issuers are not checked here. */
export const readAuthenticationConfiguration = (
  file: string,
): { text: string; configuration: AuthenticationConfiguration } => {
  try {
    const text = textOf(file)
    return { text, configuration: decodeAuthentication(text) }
  } catch (error) {
    const why = (error as Error).message
    throw new Error(
      `failed to load authentication configuration from file ${goQuote(file)}: ${why}`,
    )
  }
}
