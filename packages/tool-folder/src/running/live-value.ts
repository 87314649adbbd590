// For constructors with several parameters: a proxy for one value in the context of the current call.
import { PocketError } from '@pocket-agent/kit';

/** `find` is called on every use and throws if the value is missing. */
export function liveValue(find: () => object): object {
  return new Proxy(
    {},
    {
      get(_target, key) {
        const value = find();
        const found = Reflect.get(value, key);
        // methods may use private fields, which a proxy does not have
        return typeof found === 'function' ? found.bind(value) : found;
      },
      set: (_target, key, given) => Reflect.set(find(), key, given),
      has: (_target, key) => Reflect.has(find(), key),
    },
  );
}

/** Finds a value by its name, also in Python spelling: `discord_bot` for `discordBot`. */
export function valueNamed(context: object | undefined, name: string): object | undefined {
  const python = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const found = context && (Reflect.get(context, name) ?? Reflect.get(context, python));
  return typeof found === 'object' && found !== null ? found : undefined;
}

export function missingValueError(name: string, isDuringCall: boolean): PocketError {
  const why = isDuringCall
    ? 'the program that runs this tool folder does not provide it'
    : 'it can be used only during a call';
  return new PocketError(
    'TOOL_FAILED',
    `Constructor parameter "${name}" of Tools: ${why}. The usual form is constructor(context), with one context object.`,
  );
}
