/** What JSON holds, once it is read. */
export type JsonValue =
  | null
  | boolean
  | number
  | bigint // an int64 that a double cannot hold; see json.ts
  | string
  | JsonValue[]
  | { [key: string]: JsonValue }
export type JsonObject = { [key: string]: JsonValue }
