// An object that stands for what the call under way has under a name, for constructors that take several parameters.
import { PocketError } from '@pocket-agent/kit';

/** `find` is called on every use of the object; it throws or returns the reason if the object is missing. */
export function liveValue(find: () => object): object {
  return new Proxy(
    {},
    {
      get(_target, key) {
        const value = find();
        const found = Reflect.get(value, key);
        // methods may reach for private fields, which a proxy has not
        return typeof found === 'function' ? found.bind(value) : found;
      },
      set: (_target, key, given) => Reflect.set(find(), key, given),
      has: (_target, key) => Reflect.has(find(), key),
    },
  );
}

/** Also under the name as Python writes it: `discordBot` is `discord_bot`. */
export function namedIn(context: object | undefined, name: string): object | undefined {
  const python = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const found = context && (Reflect.get(context, name) ?? Reflect.get(context, python));
  return typeof found === 'object' && found !== null ? found : undefined;
}

export function noSuchValue(name: string, isCalled: boolean): PocketError {
  const why = isCalled
    ? 'the program that runs this tool folder gives it no such value'
    : 'it can only be used while one of the tools is called';
  return new PocketError(
    'TOOL_FAILED',
    `"${name}", a parameter of the constructor of Tools: ${why}. The usual form is constructor(context), with one context object.`,
  );
}
