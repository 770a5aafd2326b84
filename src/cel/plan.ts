/** Turns a checked tree into functions that evaluate it and count what it costs (cel-go, interpreter/planner.go). */
import type {
  Call,
  Comprehension,
  Expression,
  Identifier,
  ListLiteral,
  MapLiteral,
  Select,
  StructLiteral,
} from './ast.js'
import { appending, inserting } from './collecting.js'
import { implementationOf } from './dispatch.js'
import { type Evaluate, Evaluation, Unasked } from './evaluation.js'
import { checkPattern } from './functions/strings.js'
import { accumulator } from './macros.js'
import { membersOf } from './membership.js'
import {
  booleanOrError,
  constant,
  conversions,
  PlanError,
  type Planned,
  pairsOf,
  type Scope,
  settle,
} from './planned.js'
import { callCost, paidAfter } from './runtime-cost.js'
import { checkKey, isPresent, printKey, select, selectOptional } from './selection.js'
import {
  CelError,
  type CelValue,
  EntryMap,
  keyOf,
  noSuchOverload,
  Optional,
  StructValue,
  TypeValue,
} from './values.js'

class Planner {
  #scope: Scope | undefined
  #slots = 0

  plan(e: Expression): Planned {
    if (e.kind === 'constant') return constant(e.value)
    if (e.kind === 'identifier') return this.#identifier(e)
    if (e.kind === 'select') return this.#select(e)
    if (e.kind === 'call') return this.#call(e)
    if (e.kind === 'list') return this.#list(e)
    if (e.kind === 'map') return this.#map(e)
    return e.kind === 'struct' ? this.#struct(e) : this.#comprehension(e)
  }

  #slotOf(name: string): number | undefined {
    for (let scope = this.#scope; scope !== undefined; scope = scope.outer) {
      const slot = scope.slots.get(name)
      if (slot !== undefined) return slot
    }
    return undefined
  }

  #identifier(e: Identifier): Planned {
    const slot = this.#slotOf(e.name)
    if (slot !== undefined)
      return {
        isAttribute: true,
        run: (evaluation) => {
          evaluation.spend(1)
          const { slots } = evaluation
          const found = slots[slot]!
          const value = found instanceof Unasked ? settle(found.run) : found
          if (found instanceof Unasked) slots[slot] = value
          if (value instanceof Error) throw value
          return value
        },
      }
    return this.#variable(e.name.replace(/^\./, ''), e)
  }

  #variable(name: string, { type }: Expression): Planned {
    if (type?.kind === 'type') return constant(new TypeValue(type.params[0]?.name ?? 'type'))
    return {
      isAttribute: true,
      run: (evaluation) => {
        evaluation.spend(1)
        const value = evaluation.variable(name)
        if (value === undefined) throw new CelError(`no such attribute(s): ${name}`)
        return value
      },
    }
  }

  #select(e: Select): Planned {
    if (e.qualifiedName !== undefined) return this.#variable(e.qualifiedName, e)
    const operand = this.plan(e.operand)
    const { field } = e
    const isPath = operand.isAttribute === true || operand.isConditional === true
    if (e.isTest)
      return {
        run: (evaluation) => {
          const value = operand.run(evaluation)
          evaluation.spend((isPath ? 0 : 1) - (value === Optional.none ? 1 : 0))
          return isPresent(value, field)
        },
      }
    const cost = isPath ? 1 : 2
    return {
      isAttribute: true,
      run: (evaluation) => {
        const value = operand.run(evaluation)
        evaluation.spend(cost)
        return this.#paid(evaluation, select(value, field), value instanceof Optional)
      },
    }
  }

  #index(e: Call, isOptional: boolean): Planned {
    const [operand, index] = e.args.map((arg) => this.plan(arg)) as [Planned, Planned]
    const cost =
      (index.isAttribute ? 0 : 1) + (operand.isAttribute || operand.isConditional ? 0 : 1)
    const get = isOptional ? selectOptional : select
    if (e.name !== '_?._' && index.constant !== undefined) {
      const { value } = index.constant
      this.#now(() => {
        checkKey(value)
        return value
      })
    }
    return {
      isAttribute: true,
      run: (evaluation) => {
        const value = operand.run(evaluation)
        const key = index.run(evaluation)
        evaluation.spend(cost)
        checkKey(key)
        return this.#paid(evaluation, get(value, key), isOptional || value instanceof Optional)
      },
    }
  }

  /** What may be missing costs nothing when it is. */
  #paid(evaluation: Evaluation, found: CelValue, isOptional: boolean): CelValue {
    if (isOptional && found === Optional.none) evaluation.spend(-1)
    return found
  }

  /** A term decides when it equals `stop`; an error stands only when no term does. */
  #logical(e: Call, stop: boolean): Planned {
    const [left, right] = e.args.map((arg) => this.plan(arg)) as [Planned, Planned]
    return {
      run: (evaluation) => {
        const first = booleanOrError(settle(() => left.run(evaluation)))
        if (first === stop) return stop
        const second = booleanOrError(settle(() => right.run(evaluation)))
        if (second === stop) return stop
        if (first instanceof CelError) throw first
        if (second instanceof CelError) throw second
        return !stop
      },
    }
  }

  #conditional(e: Call): Planned {
    const [test, truthy, falsy] = e.args.map((arg) => this.plan(arg)) as [Planned, Planned, Planned]
    return {
      isConditional: true,
      run: (evaluation) => {
        const chosen = test.run(evaluation)
        if (typeof chosen !== 'boolean') throw noSuchOverload()
        const branch = chosen ? truthy : falsy
        const value = branch.run(evaluation)
        // The step of an attribute into its first value is not counted here.
        if (branch.isAttribute) evaluation.spend(-1)
        return value
      },
    }
  }

  #notFalse(e: Call): Planned {
    const arg = this.plan(e.args[0]!)
    return {
      run: (evaluation) => {
        const value = settle(() => arg.run(evaluation))
        evaluation.spend(1)
        return typeof value === 'boolean' ? value : true
      },
    }
  }

  #orElse(e: Call): Planned {
    const optional = this.plan(e.target!)
    const otherwise = this.plan(e.args[0]!)
    const isValue = e.name === 'orValue'
    return {
      run: (evaluation) => {
        const value = optional.run(evaluation)
        // What is no optional is its own answer.
        if (!(value instanceof Optional)) return value
        if (value.value !== undefined) return isValue ? value.value : value
        return otherwise.run(evaluation)
      },
    }
  }

  #call(e: Call): Planned {
    const [first] = e.args
    if (e.name === '_&&_') return this.#logical(e, false)
    if (e.name === '_||_') return this.#logical(e, true)
    if (e.name === '_?_:_') return this.#conditional(e)
    if (e.name === '_[_]') return this.#index(e, false)
    if (e.name === '_[?_]' || e.name === '_?._') return this.#index(e, true)
    if (e.name === '@not_strictly_false') return this.#notFalse(e)
    if (e.name === 'cel.@mapInsert') {
      const [into, ...added] = e.args.map((arg) => this.plan(arg)) as [Planned, ...Planned[]]
      return inserting(into, added)
    }
    if ((e.name === 'or' || e.name === 'orValue') && e.target !== undefined) return this.#orElse(e)
    if (e.name === '_+_' && first?.kind === 'identifier' && first.name === accumulator)
      return appending(this.plan(first), this.plan(e.args[1]!))
    return this.#function(e)
  }

  #function(e: Call): Planned {
    const all = e.target === undefined ? e.args : [e.target, ...e.args]
    const args = all.map((arg) => this.plan(arg))
    const overloads = e.overloads ?? []
    const call = implementationOf(e.name, overloads)
    const only = overloads.length === 1 ? overloads[0]! : ''
    const { name } = e
    if (args.length === 1 && args[0]!.constant !== undefined && conversions.has(name))
      return constant(this.#now(() => call(args[0]!.constant!.value)))
    const listed = only === 'in_list' ? args[1]!.constant?.value : undefined
    const membership = Array.isArray(listed) ? this.#membership(args[0]!, listed) : undefined
    if (membership !== undefined) return membership
    const isPattern = name === 'matches' || name === 'find' || name === 'findAll'
    const pattern = isPattern ? args[1]?.constant?.value : undefined
    if (typeof pattern === 'string') this.#now(() => checkPattern(pattern))
    const isPaidAfter = paidAfter.has(name)
    return {
      run: (evaluation) => {
        const values = args.map((arg) => arg.run(evaluation))
        // What costs too much is not done.
        if (!isPaidAfter) evaluation.spend(callCost(name, only, values, null))
        const result = call(...values)
        if (isPaidAfter) evaluation.spend(callCost(name, only, values, result))
        return result
      },
    }
  }

  /** A list of constants is looked up in constant time, which costs nothing; of an empty one nothing is asked. */
  #membership(item: Planned, list: readonly CelValue[]): Planned | undefined {
    if (list.length === 0) return constant(false)
    const members = membersOf(list)
    return members && { run: (evaluation) => members.has(keyOf(item.run(evaluation))) }
  }

  /** Evaluates what is constant while the program is made. */
  #now(run: () => CelValue): CelValue {
    const value = settle(run)
    if (value instanceof CelError) throw new PlanError(value.message)
    return value
  }

  #list(e: ListLiteral): Planned {
    const items = e.items.map((item) => ({ ...this.plan(item.value), isOptional: item.isOptional }))
    const run: Evaluate = (evaluation) => {
      const list: CelValue[] = []
      for (const item of items) {
        const value = item.run(evaluation)
        if (!item.isOptional) list.push(value)
        else if (!(value instanceof Optional))
          throw new CelError(
            `cannot initialize optional list element from non-optional value ${String(value)}`,
          )
        else if (value.value !== undefined) list.push(value.value)
      }
      return list
    }
    return this.#literal(run, 10, items)
  }

  /** A literal of constants is made once, and costs nothing. */
  #literal(run: Evaluate, cost: number, parts: readonly Planned[]): Planned {
    if (parts.every((part) => part.constant !== undefined))
      return constant(this.#now(() => run(new Evaluation(() => undefined, cost))))
    return {
      run: (evaluation) => {
        const value = run(evaluation)
        evaluation.spend(cost)
        return value
      },
    }
  }

  #map(e: MapLiteral): Planned {
    const entries = e.entries.map(({ key, value, isOptional }) => ({
      key: this.plan(key),
      value: this.plan(value),
      isOptional,
    }))
    const run: Evaluate = (evaluation) => {
      const map = new EntryMap()
      for (const entry of entries) {
        const key = entry.key.run(evaluation)
        const value = entry.value.run(evaluation)
        const present = entry.isOptional ? this.#optionalEntry(key, value) : value
        if (present !== undefined) map.set(key, present)
        else map.delete(key)
      }
      return map
    }
    return this.#literal(
      run,
      30,
      entries.flatMap(({ key, value }) => [key, value]),
    )
  }

  #optionalEntry(name: CelValue, value: CelValue): CelValue | undefined {
    if (value instanceof Optional) return value.value
    throw new CelError(
      `cannot initialize optional entry '${printKey(name)}' from non-optional value ${String(value)}`,
    )
  }

  #struct(e: StructLiteral): Planned {
    const fields = e.fields.map((field) => ({ ...field, planned: this.plan(field.value) }))
    const typeName = e.type?.name ?? e.typeName
    return {
      run: (evaluation) => {
        const values = new Map<string, CelValue>()
        for (const { name, isOptional, planned } of fields) {
          const value = planned.run(evaluation)
          const present = isOptional ? this.#optionalEntry(name, value) : value
          if (present !== undefined) values.set(name, present)
          else values.delete(name)
        }
        evaluation.spend(40)
        return new StructValue(typeName, values)
      },
    }
  }

  #comprehension(e: Comprehension): Planned {
    const range = this.plan(e.range)
    const initial = this.#fresh(e.initial)
    const outer = this.#scope
    const accumulated = this.#slots++
    const first = this.#slots++
    const second = this.#slots++
    const whole: Scope = { slots: new Map([[e.accumulator, accumulated]]), outer }
    const variables = new Map([[e.variable, first]])
    if (e.variable2 !== undefined) variables.set(e.variable2, second)
    this.#scope = { slots: variables, outer: whole }
    const condition = this.plan(e.condition)
    const step = this.plan(e.step)
    this.#scope = whole
    const result = this.plan(e.result)
    this.#scope = outer
    const isAlways = condition.constant?.value === true
    return {
      run: (evaluation) => {
        const { slots } = evaluation
        const pairs = pairsOf(range.run(evaluation), e.variable2 !== undefined)
        slots[accumulated] = new Unasked(() => initial(evaluation))
        for (const [one, two] of pairs) {
          slots[first] = one
          slots[second] = two
          if (!isAlways && condition.run(evaluation) === false) break
          slots[accumulated] = settle(() => step.run(evaluation))
        }
        return result.run(evaluation)
      },
    }
  }

  /** What a loop starts with; what it collects into must be new each time. */
  #fresh(e: Expression): Evaluate {
    if (e.kind === 'list' && e.items.length === 0) return () => []
    if (e.kind === 'map' && e.entries.length === 0) return () => new EntryMap()
    return this.plan(e).run
  }
}

/** @throws PlanError */
export const plan = (e: Expression): Evaluate => new Planner().plan(e).run
