/** One connection of a client, with one request at a time. */
export interface Connection {
  request(method: string, path: string, body?: Buffer, type?: string): Promise<Answer>
  close(): void
}

export interface Answer {
  readonly status: number
  readonly body: Buffer
}
