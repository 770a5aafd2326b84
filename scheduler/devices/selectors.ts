/** Selectors of devices. An expression is compiled once, however many devices it is asked about, and a device read once. */
import {
  compileDeviceSelector,
  type DeviceSelectorProgram,
  deviceValue,
} from '#cel/device-selector.js'
import type { DeviceSelector } from '#client/resource-claim.js'
import type { Device } from '#client/resource-slice.js'
import { Kept } from '#collections/kept.js'
import { limits } from '#limits'
import type { PooledDevice } from './pools.js'

const compiled = new Kept<DeviceSelectorProgram>(limits.deviceSelectorsKept)
const values = new WeakMap<Device, ReturnType<typeof deviceValue>>()

const readDevice = ({ device, pool }: PooledDevice): ReturnType<typeof deviceValue> => {
  const value = values.get(device) ?? deviceValue({ driver: pool.driver, ...device })
  values.set(device, value)
  return value
}

/** Whether all selectors want the device. Throws if an expression is wrong, or fails for this device; `owner` is named then. */
export const selectorsMatch = (
  owner: string,
  selectors: readonly DeviceSelector[] | undefined,
  pooled: PooledDevice,
): boolean =>
  (selectors ?? []).every(({ cel }, index) => {
    const text = cel?.expression ?? ''
    try {
      return compiled.of(text, compileDeviceSelector)(() => readDevice(pooled))
    } catch (error) {
      throw new Error(`${owner}: selector #${index}: CEL ${(error as Error).message}`)
    }
  })
