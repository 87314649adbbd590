// One gate: the model, code, a sub-agent, an MCP client and an A2A peer get the same decisions and one audit record for each call.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { codeMode } from '@pocket-agent/code-mode';
import {
  type AccessOptions,
  type Approve,
  type AuditRecord,
  type Capability,
  PocketAgent,
  type PocketAgentOptions,
  tool,
} from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, expect, test } from 'vitest';
import { silent } from '../../pocket-agent/test/helpers.ts';
import { clientOf, message, questionsOf, send, stateOf, World } from './fixtures/world.ts';

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];

const world = new World();
afterEach(() => world.close());

const capabilities = { look: 'read', note: 'write', make: 'create', erase: 'delete' } as const;
type Name = keyof typeof capabilities;
const names = Object.keys(capabilities) as Name[];
const isName = (name: string): name is Name => name in capabilities;

/** What is called under which rules. */
interface Case {
  access: AccessOptions;
  /** Of the tools that a person is asked about, those that they allow. */
  approved: readonly Name[];
  maxToolCalls: number | undefined;
  calls: readonly { name: Name; arguments: { id: number } }[];
}

interface Outcome {
  ran: string[];
  audit: Pick<AuditRecord, 'tool' | 'decision' | 'by' | 'outcome' | 'capability' | 'arguments'>[];
}

/** Lets one agent make the calls of a case, with `options`; `ownCalls` are made to get there. */
type Way = (world: World, each: Case, options: (ownCalls?: number) => Partial<PocketAgentOptions>) => Promise<void>;

const model = (script: ConstructorParameters<typeof ScriptedModel>[0]) => ({
  llmModel: new ScriptedModel(script),
  name: 'Worker',
  logger: silent,
});
const worker = ({ calls }: Case) => model([...calls.map((call) => ({ toolCalls: [call] })), 'done']);
const answerFor = ({ approved }: Case, name: string) => !isName(name) || approved.includes(name);
const approveFor =
  (each: Case): Approve =>
  ({ tool: name }) =>
    answerFor(each, name) ? 'allow' : 'deny';

const ways: Record<string, Way> = {
  'the model': async (here, each, options) => {
    const agent = here.keep(new PocketAgent({ ...worker(each), ...options(), approve: approveFor(each) }));
    await settled(agent.run('go'));
  },
  'a tool that calls tools': (here, each, options) => throughTool(here, each, options(1)),
  'code that the model writes': (here, each, options) => throughCode(here, each, options(1)),
  'a sub-agent with its own rules': async (here, each, options) => {
    const own = new PocketAgent({ ...worker(each), ...options() });
    const script = model([{ toolCalls: [{ name: 'Worker-message', arguments: { message: 'go' } }] }, 'done']);
    const root = here.keep(new PocketAgent({ ...script, name: 'Root', subAgents: [own], approve: approveFor(each) }));
    await settled(root.run('go'));
  },
  'a sub-agent under the rules of its parent': async (here, each, options) => {
    const { tools = [], ...rules } = options(1);
    const own = new PocketAgent({ ...worker(each), tools });
    const script = model([{ toolCalls: [{ name: 'Worker-message', arguments: { message: 'go' } }] }, 'done']);
    const root = new PocketAgent({ ...script, name: 'Root', subAgents: [own], ...rules, approve: approveFor(each) });
    await settled(here.keep(root).run('go'));
  },
  'an MCP client': async (here, each, options) => {
    const agent = here.keep(new PocketAgent({ ...worker(each), ...options() }));
    const { url } = await agent.asMcpServer().listen();
    const client = here.keep(
      new Client({ name: 'peer', version: '1' }, { capabilities: { elicitation: { form: {} } } }),
    );
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      const [, asked = ''] = /wants to call "(\w+)"/.exec(params.message) ?? [];
      return { action: 'accept', content: { approve: answerFor(each, asked) } };
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    await client.callTool({ name: 'Worker-message', arguments: { message: 'go' } });
  },
  'an A2A peer': async (here, each, options) => {
    const agent = here.keep(new PocketAgent({ ...worker(each), ...options() }));
    const client = await clientOf((await here.serve(agent, { approvals: 'caller' })).url);
    let task = await send(client, message('go'));
    while (stateOf(task) === 'TASK_STATE_INPUT_REQUIRED') {
      const [, asked = ''] = /"tool":"(\w+)"/.exec(JSON.stringify(task.status?.message)) ?? [];
      const { id: taskId, contextId } = task;
      const [question] = questionsOf(task);
      task = await send(
        client,
        message([{ data: { question, approve: answerFor(each, asked) } }], { taskId, contextId }),
      );
    }
  },
};

/** The tool stops at the end of the run; refused calls do not stop it. */
async function throughTool(here: World, each: Case, { tools = [], ...options }: Partial<PocketAgentOptions>) {
  const relay = tool({
    name: 'relay',
    description: 'Makes the calls',
    capability: 'read',
    run: async (_args, context) => {
      for (const call of each.calls) {
        await context.tools?.call(call.name, call.arguments, { via: 'code' }).catch(() => undefined);
        if (context.signal.aborted) return 'ended';
      }
      return 'made';
    },
  });
  const script = model([{ toolCalls: [{ name: 'relay' }] }, 'done']);
  const agent = new PocketAgent({ ...script, tools: [relay, ...tools], ...options, approve: approveFor(each) });
  await settled(here.keep(agent).run('go'));
}

async function throughCode(here: World, each: Case, { tools = [], ...options }: Partial<PocketAgentOptions>) {
  const calls = each.calls.map(
    (call) => `await tools.${call.name}(${JSON.stringify(call.arguments)}).catch(() => {});`,
  );
  const script = model([{ toolCalls: [{ name: 'run_code', arguments: { code: calls.join('\n') } }] }, 'done']);
  const agent = new PocketAgent({ ...script, tools: [codeMode(), ...tools], ...options, approve: approveFor(each) });
  await settled(here.keep(agent).run('go'));
}

/** A run ends with an error if it is beyond its budget. */
async function settled(run: Promise<unknown>): Promise<void> {
  await run.catch((error) => expect(error).toMatchObject({ code: 'BUDGET_REACHED' }));
}

async function outcomeOf(way: Way, each: Case): Promise<Outcome> {
  const ran: string[] = [];
  const audit: Outcome['audit'] = [];
  const make = (name: Name) =>
    tool({
      name,
      description: `Does ${name}`,
      capability: capabilities[name],
      run: ({ id }) => `${name} ${ran.push(`${name} ${id}`)}`,
    });
  await way(world, each, (ownCalls = 0) => ({
    tools: names.map(make),
    access: { ...each.access, auditFile: undefined },
    limits: each.maxToolCalls === undefined ? {} : { maxToolCalls: each.maxToolCalls + ownCalls },
    hooks: {
      onEvent: ({ type, data }) => {
        if (type !== 'audit' || !isName(data.tool)) return;
        const { tool: name, decision, by, outcome, capability, arguments: args } = data;
        audit.push({ tool: name, decision, by, outcome, capability, arguments: args });
      },
    },
  }));
  return { ran, audit };
}

/** Numbers from 0 to 1, the same in every run. */
function seeded(seed: number): () => number {
  let state = seed * 7_919;
  return () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

function randomCase(seed: number): Case {
  const random = seeded(seed);
  const some = <Item>(items: readonly Item[], part: number) => items.filter(() => random() < part);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const others: Capability[] = some(['write', 'create', 'delete'], 0.6);
  return {
    access: {
      // reading is allowed, because a tool that calls tools has to be
      ...(random() < 0.8 ? { profile: { capabilities: ['read', ...others], deny: some(names, 0.2) } } : {}),
      confirm: pick(['never', 'destructive', 'always', 'write'] as const),
    },
    approved: some(names, 0.6),
    maxToolCalls: pick([undefined, undefined, 1, 3]),
    calls: Array.from({ length: 5 }, (_, id) => ({ name: pick(names), arguments: { id } })),
  };
}

test.each(SEEDS)(
  'every way to call decides alike and leaves one audit record for each call, random policy %i',
  async (seed) => {
    const each = randomCase(seed);
    const expected = await outcomeOf(ways['the model'] as Way, each);
    if (each.maxToolCalls === undefined) expect(expected.audit).toHaveLength(each.calls.length);
    expect(expected.audit.filter(({ outcome }) => outcome === 'done')).toHaveLength(expected.ran.length);
    for (const [name, way] of Object.entries(ways)) {
      expect(await outcomeOf(way, each), `${name}, seed ${seed}: ${JSON.stringify(each)}`).toEqual(expected);
    }
  },
);
