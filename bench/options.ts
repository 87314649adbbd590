// Parses the command line of a benchmark. Prints the usage for unknown options and values.
import { parseArgs } from 'node:util';

interface Options {
  usage: string;
  switches: readonly string[];
  /** Options that choose some of these names, separated by commas. Default: all names. */
  choices: Record<string, readonly string[]>;
}

interface Chosen {
  isOn(name: string): boolean;
  /** In the order of the command line. */
  names(choice: string): string[];
}

export function readOptions({ usage, switches, choices }: Options): Chosen {
  const flags = ['help', ...switches].map((name) => [name, { type: 'boolean' as const }]);
  const lists = Object.keys(choices).map((name) => [name, { type: 'string' as const }]);
  try {
    const values: Record<string, unknown> = parseArgs({ options: Object.fromEntries([...flags, ...lists]) }).values;
    if (values.help) exitWith(usage, 0);
    const names = (choice: string) => {
      const known = choices[choice] ?? [];
      const given = values[choice];
      return typeof given === 'string' ? namesIn(given, choice, known) : [...known];
    };
    for (const choice of Object.keys(choices)) names(choice);
    return { isOn: (name) => values[name] === true, names };
  } catch (error) {
    exitWith(`${error instanceof Error ? error.message : error}\n${usage}`, 2);
  }
}

function namesIn(given: string, choice: string, known: readonly string[]): string[] {
  const names = given.split(',').filter((name) => name !== '');
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`--${choice}: unknown ${unknown.join(', ')}. Choose from ${known.join(', ')}.`);
  return names;
}

function exitWith(text: string, code: number): never {
  (code === 0 ? process.stdout : process.stderr).write(`${text}\n`);
  process.exit(code);
}
