/** Credentials that a program prints: it is run when they are needed first, have expired or were refused (client-go, plugin/pkg/client/auth/exec). */
import { spawn } from 'node:child_process'
import tty from 'node:tty'
import { systemClock } from '#api/clock.js'
import { limits } from '#limits'
import type { ClientCredentials } from '#net/client-credentials.js'
import { keyPairProblem } from '#net/key-pair.js'
import type { CredentialProgram } from './credential-program.js'
import { messageOf } from './errors.js'

export interface ProgramCredentials {
  /** The same object for as long as they are good. */
  current(): Promise<ClientCredentials>
  /** Runs the program again, unless `refused` are not the current ones any more. Never rejects. */
  renew(refused: ClientCredentials): Promise<void>
  /** Ends a program that runs. */
  end(): void
}

interface Printed {
  apiVersion?: string
  kind?: string
  status?: {
    expirationTimestamp?: string | null
    token?: string
    clientCertificateData?: string
    clientKeyData?: string
  } | null
}

const isInteractive = (mode: string): boolean => {
  if (mode === 'Never') return false
  const hasTerminal = tty.isatty(0)
  if (mode === 'Always' && !hasTerminal)
    throw new Error('exec plugin cannot support interactive mode: standard input is not a terminal')
  return hasTerminal
}

const failureOf = ({ command, installHint }: CredentialProgram, error: unknown): Error => {
  const { code } = error as NodeJS.ErrnoException
  if (code !== 'ENOENT') return new Error(`exec: ${messageOf(error)}`)
  return new Error(
    [`exec: executable ${command} not found`, installHint].filter(Boolean).join('\n\n'),
  )
}

/** What it prints. Its standard error is ours, so that it can tell what is wrong and ask for a login. */
const run = async (program: CredentialProgram, signal: AbortSignal): Promise<string> => {
  const { apiVersion, command, args, env, interactiveMode, cluster } = program
  const interactive = isInteractive(interactiveMode)
  const asked = {
    kind: 'ExecCredential',
    apiVersion,
    spec: { ...(cluster ? { cluster } : {}), interactive },
  }
  const child = spawn(command, args, {
    stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: JSON.stringify(asked) },
    signal,
  })
  const chunks: Buffer[] = []
  let length = 0
  child.stdout.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length <= limits.credentialProgramOutputBytesMax) chunks.push(chunk)
    else child.kill('SIGKILL')
  })
  const code = await new Promise<number>((resolve, reject) => {
    child.on('error', (error) => reject(failureOf(program, error)))
    child.on('close', (status) => resolve(status ?? -1))
  })
  if (code !== 0) throw new Error(`exec: executable ${command} failed with exit code ${code}`)
  return Buffer.concat(chunks).toString('utf8')
}

const parse = (text: string): Printed => {
  try {
    return (JSON.parse(text) as Printed | null) ?? {}
  } catch (error) {
    throw new Error(`decoding stdout: ${messageOf(error)}`)
  }
}

interface Known {
  readonly credentials: ClientCredentials
  readonly expiresMs: number
}

const knownFrom = (text: string, { apiVersion: wanted }: CredentialProgram): Known => {
  const { apiVersion = '', kind, status } = parse(text)
  if (apiVersion !== wanted || kind !== 'ExecCredential')
    throw new Error(
      `exec plugin is configured to use API version ${wanted}, plugin returned version ${apiVersion}`,
    )
  if (!status) throw new Error("exec plugin didn't return a status field")
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status
  if (!token && !cert && !key) throw new Error("exec plugin didn't return a token or cert/key pair")
  if (!cert !== !key) throw new Error('exec plugin returned only certificate or key, not both')
  const problem = cert && key ? keyPairProblem(cert, key) : undefined
  if (problem !== undefined) throw new Error(`failed parsing client key/certificate: ${problem}`)
  return {
    credentials: { ...(token ? { token } : {}), ...(cert && key ? { cert, key } : {}) },
    expiresMs: expirationTimestamp ? Date.parse(expirationTimestamp) : Number.POSITIVE_INFINITY,
  }
}

export const createProgramCredentials = (program: CredentialProgram): ProgramCredentials => {
  const ended = new AbortController()
  let known: Known | undefined
  /** It may ask a person: it runs once for all requests that wait for it. */
  let running: Promise<Known> | undefined
  const refresh = async (): Promise<Known> => {
    running ??= run(program, ended.signal)
      .then((text) => knownFrom(text, program))
      .finally(() => {
        running = undefined
      })
    known = await running
    return known
  }
  return {
    async current() {
      if (known !== undefined && systemClock.now() <= known.expiresMs) return known.credentials
      try {
        return (await refresh()).credentials
      } catch (error) {
        throw new Error(`getting credentials: ${messageOf(error)}`)
      }
    },
    async renew(refused) {
      if (known?.credentials !== refused) return
      // The answer that they were refused with tells more than that there are no others.
      await refresh().catch(() => {})
    },
    end: () => ended.abort(),
  }
}
