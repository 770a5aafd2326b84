/** The API for embedders: a Kubernetes API server in your process, as many as you like. */
export { createServer, type Server } from '#server/create-server.js'
export type { AuthorizationMode, ServerOptions } from '#server/options.js'
