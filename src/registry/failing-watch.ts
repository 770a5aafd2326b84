import type { ObjectEventBatch } from '#cacher/object-storage.js'

/** A watch that could not begin: its client learns so as from any other that fails. */
export const failingWatch = (error: unknown): AsyncIterable<ObjectEventBatch> => ({
  [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }),
})
