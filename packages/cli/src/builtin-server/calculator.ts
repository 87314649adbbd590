// Evaluates arithmetic text with a recursive-descent parser: no eval, bounded length and depth.

const MAX_LENGTH = 500;
const MAX_DEPTH = 50;

/** `isBarePercent` marks an operand that is only a percentage, such as `10%`. */
type Operand = { value: number; isBarePercent: boolean };
type MathFunction = { minimum: number; maximum: number; apply: (...values: number[]) => number };

const one = (apply: (value: number) => number): MathFunction => ({ minimum: 1, maximum: 1, apply });
// sin(pi) is 1.2e-16 in floating point; show 0
const withoutNoise = (value: number) => (Math.abs(value) < 1e-15 ? 0 : value);

const FUNCTIONS = new Map<string, MathFunction>([
  ['sqrt', one(Math.sqrt)],
  ['abs', one(Math.abs)],
  ['floor', one(Math.floor)],
  ['ceil', one(Math.ceil)],
  ['ln', one(Math.log)],
  ['log', one(Math.log10)],
  ['exp', one(Math.exp)],
  ['sin', one((value) => withoutNoise(Math.sin(value)))],
  ['cos', one((value) => withoutNoise(Math.cos(value)))],
  ['tan', one((value) => withoutNoise(Math.tan(value)))],
  ['round', { minimum: 1, maximum: 2, apply: roundTo }],
  ['min', { minimum: 1, maximum: Number.POSITIVE_INFINITY, apply: Math.min }],
  ['max', { minimum: 1, maximum: Number.POSITIVE_INFINITY, apply: Math.max }],
]);
const CONSTANTS = new Map([
  ['pi', Math.PI],
  ['π', Math.PI],
  ['e', Math.E],
]);

/**
 * The value of an expression; throws an Error that names the position.
 * `200 + 10%` adds ten percent of 200 (220), as pocket calculators do; everywhere else `10%` is 0.1, also in `200 + (10%)`.
 * A comma groups thousands (2,380), except between the arguments of min, max and round.
 */
export function calculate(expression: string): number {
  if (expression.length > MAX_LENGTH) {
    throw new Error(`The expression has ${expression.length} characters; at most ${MAX_LENGTH} are allowed.`);
  }
  return new Parser(expression).parse();
}

/** A number without floating-point noise: whole numbers exactly, everything else to 14 significant digits. */
export function formatNumber(value: number): string {
  if (Number.isSafeInteger(value)) return String(value === 0 ? 0 : value);
  const rounded = Number(value.toPrecision(14));
  return Math.abs(rounded) > Number.MAX_SAFE_INTEGER ? rounded.toExponential() : String(rounded);
}

function roundTo(value: number, digits = 0): number {
  const scale = 10 ** digits;
  // 1.005 * 100 is 100.49999999999999; rounding to 15 digits restores 100.5
  const scaled = Number((Math.abs(value) * scale).toPrecision(15));
  return (Math.sign(value) * Math.round(scaled)) / scale;
}

function add(left: number, right: number): number {
  const sum = left + right;
  const noise = 2 * Number.EPSILON * Math.max(Math.abs(left), Math.abs(right));
  return Math.abs(sum) <= noise ? 0 : sum;
}

class Parser {
  readonly #text: string;
  #position = 0;
  #depth = 0;
  #commaSeparates = false;

  constructor(text: string) {
    // replacements keep the length, so that positions in errors stay correct
    this.#text = text
      .replace(/[×·]/g, '*')
      .replace(/÷/g, '/')
      .replace(/[−–]/g, '-')
      .replace(/[=?\s]+$/, '');
  }

  parse(): number {
    const { value } = this.#sum();
    this.#skipSpace();
    if (this.#position < this.#text.length) {
      const afterPercent = this.#text.slice(0, this.#position).trimEnd().endsWith('%');
      const hint = afterPercent ? ' ("%" means percent; write "mod" for a remainder)' : '';
      throw this.#problem(`expected an operator but found ${this.#found()}${hint}`);
    }
    return value;
  }

  #sum(): Operand {
    let left = this.#product();
    for (;;) {
      const start = this.#position;
      const operator = this.#take(/[+-]/y);
      if (!operator) return left;
      const right = this.#product();
      const amount = right.isBarePercent && !left.isBarePercent ? left.value * right.value : right.value;
      const value = this.#real(add(left.value, operator === '+' ? amount : -amount), start);
      left = { value, isBarePercent: left.isBarePercent && right.isBarePercent };
    }
  }

  #product(): Operand {
    let left = this.#signed();
    for (;;) {
      const operator = this.#take(/\*(?!\*)|\/|(?:of|mod|x)(?![a-z])/iy)?.toLowerCase();
      if (!operator) return left;
      const start = this.#position - operator.length;
      const right = this.#signed().value;
      if (right === 0 && (operator === '/' || operator === 'mod')) throw this.#problem('division by zero', start);
      left = { value: this.#real(combine(operator, left.value, right), start), isBarePercent: false };
    }
  }

  #signed(): Operand {
    const sign = this.#take(/[+-]/y);
    if (!sign) return this.#power();
    return this.#nested(() => {
      const operand = this.#signed();
      return sign === '-' ? { ...operand, value: -operand.value } : operand;
    });
  }

  #power(): Operand {
    const base = this.#percentage();
    const start = this.#position;
    if (!this.#take(/\^|\*\*/y)) return base;
    const exponent = this.#nested(() => this.#signed()).value;
    return { value: this.#real(base.value ** exponent, start), isBarePercent: false };
  }

  #percentage(): Operand {
    const value = this.#primary();
    return this.#take(/%/y) ? { value: value / 100, isBarePercent: true } : { value, isBarePercent: false };
  }

  #primary(): number {
    if (this.#take(/\(/y)) return this.#grouped(false, () => this.#sum().value);
    const number = this.#number();
    if (number !== undefined) return number;
    const name = this.#take(/[a-zπ]+/iy)?.toLowerCase();
    if (name === undefined) throw this.#problem(`expected a number but found ${this.#found()}`);
    const start = this.#position - name.length;
    const constant = CONSTANTS.get(name);
    if (constant !== undefined) return constant;
    const mathFunction = FUNCTIONS.get(name);
    if (!mathFunction) {
      const known = [...FUNCTIONS.keys()].join(', ');
      throw this.#problem(`unknown name "${name}" (functions: ${known}; constants: pi, e)`, start);
    }
    if (!this.#take(/\(/y)) throw this.#problem(`expected "(" after ${name} but found ${this.#found()}`);
    return this.#call(name, mathFunction, start);
  }

  #call(name: string, { minimum, maximum, apply }: MathFunction, start: number): number {
    const values = this.#grouped(maximum > 1, () => {
      const list = [this.#sum().value];
      while (this.#take(/,/y)) list.push(this.#sum().value);
      return list;
    });
    if (values.length < minimum || values.length > maximum) {
      throw this.#problem(`${name} takes at most ${maximum} argument(s) but got ${values.length}`, start);
    }
    return this.#real(apply(...values), start, `${name}(${values.map(formatNumber).join(', ')})`);
  }

  #number(): number | undefined {
    const grouped = this.#commaSeparates ? undefined : this.#take(/\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?/y);
    const digits = grouped ?? this.#take(/(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?/iy);
    return digits === undefined ? undefined : this.#real(Number(digits.replaceAll(',', '')), this.#position);
  }

  #grouped<Result>(commaSeparates: boolean, read: () => Result): Result {
    const outer = this.#commaSeparates;
    const opened = this.#position - 1;
    this.#commaSeparates = commaSeparates;
    const result = this.#nested(read);
    this.#commaSeparates = outer;
    if (!this.#take(/\)/y)) {
      const where = `the "(" at position ${opened + 1}`;
      throw this.#problem(`expected ")" to close ${where} but found ${this.#found()}`);
    }
    return result;
  }

  #nested<Result>(read: () => Result): Result {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw this.#problem(`nested more than ${MAX_DEPTH} levels deep`);
    const result = read();
    this.#depth -= 1;
    return result;
  }

  #take(pattern: RegExp): string | undefined {
    this.#skipSpace();
    pattern.lastIndex = this.#position;
    const match = pattern.exec(this.#text)?.[0];
    if (match !== undefined) this.#position += match.length;
    return match;
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text.charAt(this.#position))) this.#position += 1;
  }

  #found(): string {
    const character = String.fromCodePoint(this.#text.codePointAt(this.#position) ?? 0);
    return this.#position < this.#text.length ? `"${character}"` : 'the end';
  }

  #real(value: number, position: number, what = 'this'): number {
    if (Number.isNaN(value)) throw this.#problem(`${what} is not a real number`, position);
    if (!Number.isFinite(value)) throw this.#problem(`${what} is not a finite number`, position);
    return value;
  }

  #problem(message: string, position = this.#position): Error {
    return new Error(`Cannot calculate "${this.#text}": ${message}, at position ${position + 1}.`);
  }
}

function combine(operator: string, left: number, right: number): number {
  if (operator === '/') return left / right;
  if (operator === 'mod') return left - right * Math.floor(left / right);
  return left * right;
}
