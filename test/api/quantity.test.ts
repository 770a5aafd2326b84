import fc from 'fast-check'
import t from 'tap'
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  isWholeQuantity,
  parseQuantity,
  QuantityError,
  quantityMilliValue,
  quantityValue,
  roundUpToMilli,
} from '#api/quantity.js'

t.test('texts come out in the form that the reference prints', async (t) => {
  for (const [text, canonical] of [
    ['1000m', '1'],
    ['+5', '+5'],
    ['005', '005'],
    ['1.500', '1.500'],
    ['1.5', '1500m'],
    ['0.5', '500m'],
    ['1e3', '1e3'],
    ['1e4', '10e3'],
    ['12e0', '12e0'],
    ['1024Ki', '1Mi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Ki', '512'],
    ['3.3Ki', '3379200m'],
    ['0.1n', '1n'],
    ['16Ei', '9223372036854775807'],
    ['00', '0'],
    ['-1.5Gi', '-1536Mi'],
  ] as const)
    t.equal(parseQuantity(text).text, canonical, text)
  for (const text of ['', 'lots', '1.2.3', '1 2'])
    t.throws(() => parseQuantity(text), { constructor: QuantityError, message: /must match/ }, text)
  for (const text of ['1Kii', '1ki', '1K', '1e', '--1'])
    t.throws(() => parseQuantity(text), { message: "unable to parse quantity's suffix" }, text)
  const message = 'unable to parse numeric part of quantity'
  for (const text of ['Ei', '+Pi', 'e-10', '-.E-10'])
    t.throws(() => parseQuantity(text), { message }, text)
  for (const text of ['Ti', 'n', 'e-9', '0Ei', '+']) t.equal(parseQuantity(text).text, '0', text)
})

t.test('a text too long to reckon with is refused, however it goes on', async (t) => {
  const zeros = '0'.repeat(20_000)
  for (const text of [`${zeros}!`, `1${zeros}`, `0.${zeros}1`, `1${zeros}Ki`])
    t.throws(() => parseQuantity(text), { constructor: QuantityError, message: /must match/ })
})

t.test('a canonical text is the same quantity, and its own canonical text', async (t) => {
  const suffix = fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'e3', 'E-2')
  fc.assert(
    fc.property(fc.integer({ min: -1e9, max: 1e9 }), fc.nat(999), suffix, (n, fraction, unit) => {
      const quantity = parseQuantity(`${n}.${fraction}${unit}`)
      const again = parseQuantity(quantity.text)
      t.equal(compareQuantities(again, quantity), 0)
      // 11.71875Ki is written as 12000, which is read as a decimal number and written as 12k, as upstream.
      const isReadAsDecimal = quantity.format === 'BinarySI' && /\d$/.test(quantity.text)
      const text = isReadAsDecimal ? formatQuantity(quantity.nano, 'DecimalSI') : quantity.text
      t.equal(again.text, text)
    }),
    { numRuns: 300 },
  )
})

t.test('amounts add up and round up', async (t) => {
  t.equal(addQuantities(parseQuantity('1500m'), parseQuantity('0.5')).text, '2')
  t.equal(addQuantities(parseQuantity('1Gi'), parseQuantity('512Mi')).text, '1536Mi')
  t.equal(roundUpToMilli(parseQuantity('1u')).text, '1m')
  t.equal(quantityValue(parseQuantity('1001m')), 2n)
  t.equal(quantityMilliValue(parseQuantity('2')), 2000n)
})

t.test('a quantity is whole by its thousandths, even beyond 64 bits', async (t) => {
  for (const text of ['1', '1Pi', '1E', '10e18', '12E'])
    t.ok(isWholeQuantity(parseQuantity(text)), text)
  for (const text of ['1m', '1.5', '1Ei']) t.notOk(isWholeQuantity(parseQuantity(text)), text)
})
