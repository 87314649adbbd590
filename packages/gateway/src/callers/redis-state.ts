// The state of a gateway in Redis. Each operation is one command or one script, so it is atomic.
import { errorText, PocketError, sha256 } from '@pocket-agent/kit';
import { type CallerSettings, checkCallerName, checkSettings, hasTokenOfGateway } from './caller.ts';
import {
  alreadyThere,
  type Count,
  type GatewayState,
  type GivenAnswer,
  type KnownCaller,
  type LoginKey,
  type OpenQuestion,
  readAnswer,
  readSettings,
} from './state.ts';
import { newToken } from './tokens.ts';

const CONNECT_MS = 10_000;
/** Without a timeout, a request would wait until Redis is back. */
const COMMAND_MS = 5_000;

const CALLERS = 'pocket-agent:gateway:callers';
const TOKENS = 'pocket-agent:gateway:tokens';
const QUESTIONS = 'pocket-agent:gateway:questions';
const countKey = (caller: string, period: string) => `pocket-agent:gateway:count:${caller} ${period}`;
const questionKey = (id: string) => `pocket-agent:gateway:question:${id}`;
const LOGINS = 'pocket-agent:gateway:logins:';
const loginsKey = (caller: string) => `${LOGINS}${caller}`;
const answerKey = (id: string) => `pocket-agent:gateway:answer:${id}`;

/** KEYS: callers, tokens. ARGV: name, record, hash of the token. */
const ADD = `
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 0 then return 0 end
redis.call('HSET', KEYS[2], ARGV[3], ARGV[1])
return 1`;

/** KEYS: callers, tokens, the caller's logins. ARGV: name. */
const REMOVE = `
local logins = redis.call('DEL', KEYS[3])
local record = redis.call('HGET', KEYS[1], ARGV[1])
if not record then return logins end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], cjson.decode(record).hash)
return 1`;

/** KEYS: callers, the caller's logins. ARGV: server, login or '', what it replaces or '', the caller if it must be known or ''. */
const SAVE_LOGIN = `
if ARGV[3] ~= '' and redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[3] then return 0 end
if ARGV[2] == '' then return redis.call('HDEL', KEYS[2], ARGV[1]) end
if ARGV[4] ~= '' and redis.call('HEXISTS', KEYS[1], ARGV[4]) == 0 then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 1`;

/** KEYS: the count. ARGV: amount, when it ends. */
const COUNT = `
local sum = redis.call('INCRBY', KEYS[1], ARGV[1])
redis.call('PEXPIREAT', KEYS[1], ARGV[2])
return sum`;

/** KEYS: the question, its answer. ARGV: the answer. */
const ANSWER = `
local left = redis.call('PTTL', KEYS[1])
if left <= 0 then return 0 end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', left) then return 1 end
return 0`;

type Client = ReturnType<Awaited<ReturnType<typeof loadRedis>>['createClient']>;

interface CallerRecord {
  settings: string;
  hash: string;
  createdAt: number;
}

function knownCaller(name: string, { settings, createdAt }: CallerRecord): KnownCaller {
  return { name, settings: readSettings(settings), createdAt: new Date(createdAt) };
}

export async function openRedisState(url: string): Promise<GatewayState> {
  const { createClient } = await loadRedis();
  const client: Client = createClient({
    url,
    disableOfflineQueue: true,
    commandOptions: { timeout: COMMAND_MS },
    socket: { connectTimeout: CONNECT_MS },
  });
  let isOpen = false;
  const failed = Promise.withResolvers<never>();
  // until it is open, the client would try for ever
  client.on('error', (error) => isOpen || failed.reject(error));
  failed.promise.catch(() => {}); // after opening, commands report what fails
  try {
    await Promise.race([client.connect(), failed.promise]);
  } catch (error) {
    client.destroy();
    const { host } = new URL(url); // never the password
    const text = `Redis at ${host} cannot be reached: ${errorText(error)}`;
    throw new PocketError('CONFIG_INVALID', text, { cause: error });
  }
  isOpen = true;
  return new RedisState(client);
}

class RedisState implements GatewayState {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async addCaller(name: string, settings: CallerSettings): Promise<string> {
    checkCallerName(name);
    checkSettings(settings);
    const { token, hash } = newToken();
    const record: CallerRecord = { settings: JSON.stringify(settings), hash, createdAt: Date.now() };
    const isNew = await this.#run(ADD, [CALLERS, TOKENS], [name, JSON.stringify(record), hash]);
    if (isNew === 0) throw alreadyThere(name);
    return token;
  }

  async callers(): Promise<KnownCaller[]> {
    const records = Object.entries(await this.#client.hGetAll(CALLERS));
    return records
      .map(([name, record]) => knownCaller(name, JSON.parse(record)))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  async removeCaller(name: string): Promise<boolean> {
    return (await this.#run(REMOVE, [CALLERS, TOKENS, loginsKey(name)], [name])) === 1;
  }

  async callerWith(token: string): Promise<KnownCaller | undefined> {
    const hash = sha256(token);
    const name = await this.#client.hGet(TOKENS, hash);
    const text = name && (await this.#client.hGet(CALLERS, name));
    if (!text) return undefined;
    const record: CallerRecord = JSON.parse(text);
    return record.hash === hash ? knownCaller(name, record) : undefined;
  }

  count({ caller, period, endsAt, amount }: Count): Promise<number> {
    return this.#run(COUNT, [countKey(caller, period)], [String(amount), String(endsAt)]);
  }

  async ask(question: OpenQuestion): Promise<void> {
    const { id, askedAt, expiresAt } = question;
    await this.#client
      .multi()
      .set(questionKey(id), JSON.stringify(question), { expiration: { type: 'PXAT', value: expiresAt } })
      .zAdd(QUESTIONS, { score: askedAt, value: id })
      .exec();
  }

  async asked(): Promise<OpenQuestion[]> {
    return (await this.#listed()).map(({ question }) => question);
  }

  async questions(): Promise<OpenQuestion[]> {
    return (await this.#listed()).filter(({ isAnswered }) => !isAnswered).map(({ question }) => question);
  }

  async #listed(): Promise<{ question: OpenQuestion; isAnswered: boolean }[]> {
    const ids = await this.#client.zRange(QUESTIONS, 0, -1);
    if (ids.length === 0) return [];
    const [questions, answers] = await Promise.all([
      this.#client.mGet(ids.map(questionKey)),
      this.#client.mGet(ids.map(answerKey)),
    ]);
    // questions of killed processes have expired
    const gone = ids.filter((_id, index) => questions[index] === null);
    if (gone.length > 0) await this.#client.zRem(QUESTIONS, gone);
    return questions.flatMap((question, index) =>
      question === null ? [] : [{ question: JSON.parse(question) as OpenQuestion, isAnswered: answers[index] != null }],
    );
  }

  async take(id: string): Promise<{ given?: GivenAnswer } | undefined> {
    // the first process that deletes the question has it
    const [question, answer] = await this.#client
      .multi()
      .getDel(questionKey(id))
      .getDel(answerKey(id))
      .zRem(QUESTIONS, id)
      .execTyped();
    if (question === null) return undefined;
    return answer === null ? {} : { given: readAnswer(answer) };
  }

  async answer(id: string, given: GivenAnswer): Promise<boolean> {
    return (await this.#run(ANSWER, [questionKey(id), answerKey(id)], [JSON.stringify(given)])) === 1;
  }

  async answers(ids: readonly string[]): Promise<Map<string, GivenAnswer>> {
    const texts = await this.#client.mGet(ids.map(answerKey));
    return new Map(
      ids.flatMap((id, index) => {
        const text = texts[index];
        return text == null ? [] : [[id, readAnswer(text)] as const];
      }),
    );
  }

  async withdraw(id: string): Promise<void> {
    await this.#client
      .multi()
      .zRem(QUESTIONS, id)
      .del([questionKey(id), answerKey(id)])
      .exec();
  }

  async logins(): Promise<LoginKey[]> {
    const keys = new Set<string>();
    for await (const some of this.#client.scanIterator({ MATCH: `${LOGINS}*` })) for (const key of some) keys.add(key);
    const lists = [...keys].sort().map(async (key) => {
      const servers = await this.#client.hKeys(key);
      return servers.sort().map((server) => ({ caller: key.slice(LOGINS.length), server }));
    });
    return (await Promise.all(lists)).flat();
  }

  async login({ caller, server }: LoginKey): Promise<string | undefined> {
    return (await this.#client.hGet(loginsKey(caller), server)) ?? undefined;
  }

  async saveLogin({ caller, server }: LoginKey, login = '', replaces = ''): Promise<void> {
    const values = [server, login, replaces, hasTokenOfGateway(caller) ? caller : ''];
    await this.#run(SAVE_LOGIN, [CALLERS, loginsKey(caller)], values);
  }

  async close(): Promise<void> {
    if (this.#client.isOpen) this.#client.destroy();
  }

  async #run(script: string, keys: string[], values: string[]): Promise<number> {
    return Number(await this.#client.eval(script, { keys, arguments: values }));
  }
}

async function loadRedis(): Promise<typeof import('redis')> {
  try {
    return await import('redis');
  } catch (cause) {
    throw new PocketError('CONFIG_INVALID', 'A state in Redis needs the package redis: npm install redis', { cause });
  }
}
