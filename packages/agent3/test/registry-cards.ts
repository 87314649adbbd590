// Cards for the tests of the registry.
import type { CardJson } from '../src/types.ts';

/** A whole card of A2A 1.0. */
export function v1Card(change: CardJson = {}): CardJson {
  return {
    name: 'Weather',
    description: 'Forecasts for any city',
    supportedInterfaces: [{ url: 'https://weather.example/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    version: '1.2.0',
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [
      {
        id: 'forecast',
        name: 'Forecast',
        description: 'Tells tomorrow’s weather',
        tags: ['weather', 'forecast'],
        examples: ['Will it rain in Oslo?'],
      },
    ],
    ...change,
  };
}

/** A whole card of A2A 0.3. */
export function v03Card(change: CardJson = {}): CardJson {
  return {
    protocolVersion: '0.3.0',
    name: 'Old Translator',
    description: 'Translates documents',
    url: 'https://translate.example/rpc',
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [{ url: 'https://translate.example/rest', transport: 'HTTP+JSON' }],
    version: '0.9',
    capabilities: { streaming: false },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'translate', name: 'Translate', description: 'From any language', tags: ['language'] }],
    securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
    security: [{ key: [] }],
    supportsAuthenticatedExtendedCard: true,
    ...change,
  };
}

/** Made-up words; the smaller the rank, the more often `manyCards` uses it. */
export function wordAt(rank: number): string {
  let word = '';
  for (let rest = rank + 1_000; rest > 0; rest = Math.floor(rest / 10))
    word += `${'bdfgklmnpr'[rest % 10]}${'aeiou'[rest % 5]}`;
  return word;
}

/** Batches of cards whose words are spread as those of a language are. */
export function* manyCards(count: number): Generator<CardJson[], void> {
  let seed = 1;
  const random = () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed / 2 ** 32;
  };
  const words = (length: number) => Array.from({ length }, () => wordAt(Math.floor(20_000 ** random()) - 1)).join(' ');
  for (let made = 0; made < count; made += 1_000)
    yield Array.from({ length: Math.min(1_000, count - made) }, (_, index) =>
      v1Card({
        name: words(3),
        description: words(30),
        supportedInterfaces: [
          { url: `https://a${made + index}.example/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        ],
        skills: [1, 2].map((skill) => ({
          id: `skill-${skill}`,
          name: words(2),
          description: words(12),
          tags: words(3).split(' '),
          examples: [words(8)],
        })),
      }),
    );
}
