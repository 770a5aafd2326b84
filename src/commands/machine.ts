import type { Server } from '#server/create-server.js'
import type { ServerOptions } from '#server/options.js'

/** The API server's code, loaded by those commands alone that run one. */
export interface ServerModule {
  load(): Promise<{ createServer(options: ServerOptions): Promise<Server> }>
  /** The start is over: time for what could wait. */
  started(): void
}

/** What a command may ask of the process it runs in. main.ts gives the real one; tests give their own. */
export interface Machine {
  readonly server: ServerModule
  readonly stdout: (text: string) => void
  readonly stderr: (text: string) => void
  /** Whether someone looks at stderr: hints are for people, one line is for scripts. */
  readonly isTerminal: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  readonly nodePath: string
  /** dist/src/main.js: what a child process runs. */
  readonly mainFile: string
  /** Aborts at the first SIGINT or SIGTERM, and when the terminal is closed. */
  readonly stopSignal: AbortSignal
  /** Milliseconds since the process started. */
  readonly uptimeMs: () => number
  readonly now: () => number
}

/** Exit code of a command. */
export type ExitCode = 0 | 1 | 2
