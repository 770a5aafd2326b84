/**
 * Connections to webhooks, kept for the next review: a handshake takes longer than most reviews. One agent for each
 * server, destroyed with it (client-go, transport/cache.go: its idle connections of HTTP/1.1).
 */
import type https from 'node:https'
import { limits } from '#limits'
import { dialOptions } from '#net/dial-options.js'
import { certificateIsFor } from '#net/server-name.js'
import { TrustingAgent } from './trusting-agent.js'

export const webhookAgent = (): https.Agent =>
  new TrustingAgent({
    keepAlive: true,
    maxFreeSockets: limits.webhookIdleConnectionsMax,
    timeout: limits.keepAliveTimeoutMs,
    // Node 24 and later use no connection twice that has a check for names which its agent does not know of.
    checkServerIdentity: certificateIsFor,
    ...dialOptions,
  })
