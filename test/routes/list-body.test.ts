/** However a list is cut into segments, what goes out is its frame, and each item behind what the list leaves out of it. */
import fc from 'fast-check'
import t from 'tap'
import { ObjectText } from '#cacher/object-text.js'
import { type ListBody, listOfKnown, listOfMade } from '#routes/answers/list-body.js'

const opening = '{"kind":"X","apiVersion":"v1",'

/** An object as it is stored, and as it is shown. */
const object = fc
  .record({
    name: fc.string({ unit: 'grapheme', maxLength: 60 }),
    text: fc.string({ unit: 'grapheme', maxLength: 200 }),
    revision: fc.maxSafeNat().map((n) => n + 1),
  })
  .map(({ name, text, revision }) => {
    const before = `${opening}"metadata":{"name":${JSON.stringify(name)}`
    const after = `},"data":${JSON.stringify(text)}}`
    const stored = Buffer.from(before + after)
    return {
      item: new ObjectText(stored, Buffer.byteLength(before), revision),
      shown: `${before},"resourceVersion":"${revision}"${after}`,
    }
  })

const allOf = (body: ListBody, room: Buffer): string => {
  const parts: Buffer[] = []
  while (!body.isOver) parts.push(Buffer.concat(body.next(room)))
  return Buffer.concat(parts).toString()
}

t.test('a list reads the same in segments of any size', async (t) => {
  const property = fc.property(
    fc.array(object, { maxLength: 12 }),
    fc.integer({ min: 100, max: 2_000 }),
    (objects, roomBytes) => {
      const items = objects.map(({ item }) => item)
      const head = '{"kind":"XList","items":['
      const form = { skipped: opening.length, hasCommas: true, hasBraces: true }
      const frame = { head: Buffer.from(head), end: Buffer.from(']}\n'), form }
      const lengths = items.map(({ length }) => length)
      const known = listOfKnown(frame, lengths, (i) => items[i]!)
      const made = listOfMade([head, ']}\n'], objects, ({ shown }) => Buffer.from(shown))
      const whole = objects.map(({ shown }) => shown)
      const without = whole.map((text) => `{${text.slice(opening.length)}`)
      const room = Buffer.alloc(roomBytes)
      const text = allOf(known, room)
      return (
        text === `${head}${without.join()}]}\n` &&
        Buffer.byteLength(text) === known.length &&
        allOf(made, room) === `${head}${whole.join()}]}\n`
      )
    },
  )
  fc.assert(property, { numRuns: 500 })
  t.pass()
})
