/** Selectors of devices. An expression is compiled once, however many devices it is asked about. */
import { compileDeviceSelector, type DeviceSelectorProgram } from '#cel/device-selector.js'
import type { DeviceSelector } from '#client/resource-claim.js'
import { Kept } from '#collections/kept.js'
import { limits } from '#limits'
import type { PooledDevice } from './pools.js'

const compiled = new Kept<DeviceSelectorProgram>(limits.deviceSelectorsKept)

/** Whether all selectors want the device. Throws if an expression is wrong, or fails for this device; `owner` is named then. */
export const selectorsMatch = (
  owner: string,
  selectors: readonly DeviceSelector[] | undefined,
  { device, pool }: PooledDevice,
): boolean =>
  (selectors ?? []).every(({ cel }, index) => {
    const text = cel?.expression ?? ''
    try {
      const matches = compiled.of(text, compileDeviceSelector)
      return matches({ driver: pool.driver, ...device })
    } catch (error) {
      throw new Error(`${owner}: selector #${index}: CEL ${(error as Error).message}`)
    }
  })
