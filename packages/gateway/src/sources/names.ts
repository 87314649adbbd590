// The names that clients see: `server__tool`. A name depends only on its server and tool, so it is the same after a
// restart and in every process.
import { configError, sha256 } from '@pocket-agent/kit';
import { shortToolName, validToolName } from 'pocket-agent/internal';

const SEPARATOR = '__';
const MAX_SERVER_LENGTH = 32;
const validServer = /^[A-Za-z](?:[A-Za-z0-9-]|_(?!_))*(?<![-_])$/;

/** Without the separator in the name of a server, no two servers have a tool of the same name. */
export function checkServerNames(names: readonly string[]): void {
  for (const name of names) {
    if (name.length <= MAX_SERVER_LENGTH && validServer.test(name)) continue;
    const rule = `begin with a letter, have at most ${MAX_SERVER_LENGTH} letters, digits, - and single _, and end with a letter or digit`;
    throw configError(`The server name "${name}" must ${rule}: tools are named after it. Rename it.`);
  }
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) throw configError(`There are two servers "${repeated}": rename one.`);
}

/** The name of a tool or prompt. If a name has to be changed to be valid, it ends with a hash of the original. */
export function publicName(server: string | undefined, name: string): string {
  const wanted = server === undefined ? name : `${server}${SEPARATOR}${name}`;
  const valid = validToolName(wanted);
  return valid === wanted ? wanted : shortToolName(valid, sha256(wanted).slice(0, 8));
}

/** The server and the rest of a name. */
export function splitName(name: string): { server: string; rest: string } | undefined {
  const end = name.indexOf(SEPARATOR);
  return end < 0 ? undefined : { server: name.slice(0, end), rest: name.slice(end + SEPARATOR.length) };
}
