/**
 * What is compiled for each Go struct, by its name, when it is first used. A struct is registered before its fields are
 * compiled, because JSONSchemaProps contains itself.
 */
export const compiledStructs = <Value, Context, Result>(
  compile: (key: string) => (value: Value, context: Context) => Result,
): ((key: string) => (value: Value, context: Context) => Result) => {
  type Run = (value: Value, context: Context) => Result
  const structs = new Map<string, Run>()
  return (key) => {
    let run = structs.get(key)
    if (run === undefined) {
      let compiled: Run | undefined
      run = (value, context) => {
        compiled ??= compile(key)
        return compiled(value, context)
      }
      structs.set(key, run)
    }
    return run
  }
}
