// `agent3 register URL`: adds or changes an agent.
import { text } from 'node:stream/consumers';
import { Agent3Error } from '../base/agent3-error.ts';
import { checkInput } from '../base/check-input.ts';
import { cleanText } from '../base/clean-text.ts';
import { registerRequest } from '../base/requests.ts';
import { numberOf, readArguments } from './arguments.ts';
import { withAgent3 } from './with-agent3.ts';

export async function command(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments({
    args: [...args],
    allowPositionals: true,
    options: {
      tag: { type: 'string', multiple: true },
      price: { type: 'string' },
      token: { type: 'string' },
      'api-key': { type: 'string' },
      'rate-limit': { type: 'string' },
      idempotent: { type: 'boolean' },
      mcp: { type: 'boolean', default: false },
    },
  });
  const [url, ...more] = positionals;
  if (url === undefined || more.length > 0) throw new Agent3Error('INPUT_INVALID', 'Give one URL: agent3 register URL');
  const { tag, price, token, 'api-key': key, 'rate-limit': rateLimit, idempotent } = values;
  const credentials = [
    ...(token === undefined ? [] : [{ type: 'bearer', token: await readSecret(token) }]),
    ...(key === undefined ? [] : [{ type: 'apiKey', key: await readSecret(key) }]),
  ];
  const registration = checkInput(
    registerRequest,
    {
      ...(values.mcp ? { mcpUrl: url } : { cardUrl: url }),
      tags: tag,
      price: price === undefined ? undefined : { perCall: numberOf('--price', price) },
      rateLimit: rateLimit === undefined ? undefined : rateLimitOf(rateLimit),
      idempotent,
      ...(credentials.length > 0 ? { credentials } : {}),
    },
    {
      cardUrl: `"${url}"`,
      mcpUrl: `"${url}"`,
      'price.perCall': '--price',
      tags: '--tag',
      'rateLimit.calls': '--rate-limit',
      'rateLimit.perSeconds': '--rate-limit',
    },
  );
  return withAgent3(async (agent3, caller) => {
    const { id, name, skills, kind } = await agent3.register(registration, caller);
    const what =
      kind === 'mcp'
        ? `${skills.length} tools: agent3 gateway ${id}`
        : `${skills.length} skills: agent3 call ${id} "…"`;
    process.stdout.write(`${id}\n`);
    process.stderr.write(cleanText(`${name} is registered, with ${what}\n`));
    return 0;
  });
}

function rateLimitOf(typed: string): { calls: number; perSeconds: number } {
  const [, calls, seconds] = /^(\d+)\/(\d+)$/.exec(typed) ?? [];
  if (calls === undefined || seconds === undefined)
    throw new Agent3Error('INPUT_INVALID', `--rate-limit must be CALLS/SECONDS, such as 60/60, not "${typed}"`);
  return { calls: Number(calls), perSeconds: Number(seconds) };
}

/** Other users of the machine can see command line arguments, but not stdin. */
async function readSecret(value: string): Promise<string> {
  return value === '-' ? (await text(process.stdin)).trim() : value;
}
