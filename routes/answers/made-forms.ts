/**
 * Bytes made from an object in some form, kept for others who want them. When they are too many all are dropped at once,
 * because the objects may live as long as the server.
 */
export class MadeForms<T extends object> {
  readonly #bytesMax: number
  #made = new WeakMap<T, Map<string, Buffer>>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get(of: T, form: string, make: () => Buffer): Buffer {
    const known = this.#made.get(of)?.get(form)
    if (known !== undefined) return known
    const bytes = make()
    this.#bytes += bytes.length
    if (this.#bytes > this.#bytesMax) {
      this.#made = new WeakMap()
      this.#bytes = bytes.length
    }
    const forms = this.#made.get(of)
    if (forms === undefined) this.#made.set(of, new Map([[form, bytes]]))
    else forms.set(form, bytes)
    return bytes
  }
}
