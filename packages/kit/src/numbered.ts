// Things that come and go by the thousand, each under a number of its own.

interface Entry<Thing extends object> {
  readonly number: number;
  readonly thing: Thing;
}

const FEWEST_SLOTS = 8;

/**
 * A Map keeps more than it says: a table of it that is full points to the one made in its place, so the first that the
 * collector takes for old keeps all that follow, and what was in them, until the whole heap is searched.
 */
export class Numbered<Thing extends object> {
  /**
   * The slot of an entry is the remainder of its number by their count. A number whose slot is taken is passed over.
   * There are fewer again only when all are empty: in fewer slots two entries could meet.
   */
  #slots: (Entry<Thing> | undefined)[] = empty(FEWEST_SLOTS);
  #size = 0;
  #next: number;

  constructor(first = 0) {
    this.#next = first;
  }

  get size(): number {
    return this.#size;
  }

  add(thing: Thing): number {
    if (this.#size * 2 === this.#slots.length) this.#grow();
    while (this.#slots[this.#next % this.#slots.length]) this.#next++;
    const number = this.#next++;
    this.#slots[number % this.#slots.length] = { number, thing };
    this.#size++;
    return number;
  }

  get(number: number): Thing | undefined {
    const entry = this.#slots[number % this.#slots.length];
    return entry?.number === number ? entry.thing : undefined;
  }

  /** Takes out what has that number. */
  take(number: number): Thing | undefined {
    const thing = this.get(number);
    if (thing === undefined) return undefined;
    this.#slots[number % this.#slots.length] = undefined;
    this.#size--;
    if (this.#size === 0 && this.#slots.length > FEWEST_SLOTS) this.#slots = empty(FEWEST_SLOTS);
    return thing;
  }

  clear(): void {
    this.#slots = empty(FEWEST_SLOTS);
    this.#size = 0;
  }

  /** The oldest first. */
  list(): Thing[] {
    const entries = this.#slots.filter((entry) => entry !== undefined);
    return entries.sort((one, other) => one.number - other.number).map(({ thing }) => thing);
  }

  #grow(): void {
    const slots = empty<Thing>(this.#slots.length * 2);
    for (const entry of this.#slots) if (entry) slots[entry.number % slots.length] = entry;
    this.#slots = slots;
  }
}

function empty<Thing extends object>(length: number): (Entry<Thing> | undefined)[] {
  return new Array(length).fill(undefined);
}
