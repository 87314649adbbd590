// The help texts. Loaded for --help and for wrong usage; it imports nothing, so that --help is fast.

interface Help {
  usage: readonly string[];
  about: string;
}

const sourceWithoutAgent = `      --mcp FILE       JSON with "mcpServers", as in Claude Desktop, Cursor and VS Code; may be repeated; --config is
                       the same. Relative paths in it begin in the working folder. Without --agent, --mcp and --tools,
                       the built-in server is used
      --tools DIR      a folder of tools; may be repeated; web, github and notes are included
      --skills DIR     a skill (a folder with SKILL.md), or a folder of skills; may be repeated
      --default-capability NAME  read, write, create or delete: the capability of folder tools whose manifest does not
                       declare one; default: delete
      --exposure WORD  how tools are offered to the model: auto, direct (in every prompt), deferred (found with
                       find_tools), code (called only by code) or hidden; default: auto
`;
const source = `      --agent FILE     an agent in one JSON file: llmModel, systemPrompt, mcpServers, tools, skills, access, …
${sourceWithoutAgent}`;
const access = `      --profile NAME   what tools may do: reader, writer, manager or admin; default: everything
      --confirm WHEN   which calls need approval: never, destructive, write or always; default: destructive
`;
const http = `      --http           serve over HTTP instead of stdin and stdout
      --host NAME      the address to listen on; default: 127.0.0.1
      --port NUMBER    default: any free port
      --token TOKEN    the token that clients must send; default: POCKET_AGENT_TOKEN, if set
`;

const helps: Readonly<Record<string, Help>> = {
  ask: {
    usage: [
      'pocket-agent [options] "prompt"               answer one prompt',
      'command | pocket-agent [options] ["prompt"]   append piped input to the prompt',
      'pocket-agent [options]                        chat, in a terminal',
      'pocket-agent COMMAND [options]                run a command',
    ],
    about: `Answers with tools for arithmetic, dates, time zones, units and the text files in this folder, or with the tools of
your tool folders and MCP servers.

Commands:
  tools                       list the tools, their capability, and whether the profile allows them
  call SERVER TOOL [ARGS]     call one tool
  serve FILE                  serve an agent file over MCP or A2A
  serve-tools DIR...          serve tool folders over MCP
  gateway FILE                serve many MCP servers behind one endpoint, to callers with different rights
  studio [FILE...]            chat with agents in the browser, answer their approvals, see their traces
  new NAME                    create a project: an agent, tools, tests, Dockerfile
  new-tool NAME               create a working tool folder
  eval FILE                   run the cases of a YAML file, check the answers, compare models and prompts
  dump [FILE]                 print documentation and source as one Markdown document
  models [NAME...]            list model providers and keys, or models with price and context window
  sessions [ACTION]           list, show, rename, delete or export conversations saved with --session and /save, or
                              those of a program
  memory [ACTION]             list or erase what agents remember with --memory
  callers [ACTION]            list, show, export or erase what serve --conversations saved about its callers
  worker MODULE               advance the durable runs of the agents that a module exports
  runs [ACTION]               list, show or cancel durable runs, and answer their questions
  doctor                      check Node, keys, servers and tool folders, and say how to fix problems

Options:
  -m, --model NAME     provider/model such as anthropic/claude-sonnet-5; pocket-agent models lists the providers
                       default: chosen by the API key that is set, else a local Ollama, else the demo model (not an LLM)
${source}${access}      --yes            approve every call; without it and without a terminal, calls that need approval are refused
      --image FILE     a PNG, JPEG, GIF or WebP image for the model; may be repeated
      --file FILE      a PDF, audio, video or text file, or its URL, for models that take it; may be repeated
      --agents-md      follow AGENTS.md of this folder; a chat asks if neither this nor --no-agents-md is given
      --session NAME   save the conversation under this name, and resume it
      --memory         remember facts beyond this conversation, with the tools remember, recall and forget
      --provider-tool ID=CAPABILITY  a tool that the provider of the model runs, such as
                       anthropic.web_search_20250305=read; may be repeated
      --max-cost USD   stop a run at this cost
      --max-steps N    stop a run after this many model calls; default: 50
      --output FILE    a JSON Schema that the answer must fit; prints only the answer, as JSON
      --json           write events as JSON lines to stdout, the answer last
  -q, --quiet          print only the answer and approval questions
  -h, --help           print this help
  -v, --version        print the version

Exit codes:
  0    answered, even if a tool call was refused
  1    failed
  2    wrong usage or configuration
  3    a limit was reached: steps, cost, tokens, tool calls or time
  4    pocket-agent call: the call was refused
  5    answered, but a server, tool folder or skill that you named does not work
  129  the terminal was closed
  130  stopped by Ctrl-C
  141  output pipe closed
  143  stopped by SIGTERM
`,
  },
  tools: {
    usage: ['pocket-agent tools [options] [NAME…]'],
    about: `Lists the tools, their capability (read, write, create, delete), where the capability comes from, and whether the
profile allows them. For each NAME it also prints the description and the JSON Schema of the arguments.
Exit code 1 if no server and no folder works, if a folder is broken, or if no tool has that name.

Options:
${source}      --profile NAME   reader, writer, manager or admin
      --json           one JSON object per line
`,
  },
  call: {
    usage: ['pocket-agent call [options] SERVER TOOL [ARGS]'],
    about: `Calls one tool and prints its result. SERVER is the name of an MCP server, of a tool folder, or "builtin".
ARGS is a JSON object, or key=value pairs:

  pocket-agent call builtin calculate expression="6 * 7"

Exit code 1 if the tool reports an error, 4 if the call is refused.

Options:
${source}${access}      --yes            approve the call, and those that a served agent asks about
      --json           print the whole result as JSON
`,
  },
  serve: {
    usage: ['pocket-agent serve [options] FILE'],
    about: `Serves the agent of an agent file (see --agent) over MCP on stdin and stdout, or over HTTP. Clients are asked to
approve calls that need approval.

Options:
  -m, --model NAME     use this model instead of the one in the file
${http}      --a2a            serve over A2A instead of MCP; implies --http
      --conversation C per-client (default), per-token (one for each token) or shared (one for all)
      --files TYPE     files that clients may send besides text, such as application/pdf or audio/*; may be repeated
      --conversations DATABASE  save conversations in this SQLite file or postgres:// URL, so that they continue after a
                       restart; default: POCKET_AGENT_CONVERSATIONS, if set, else in memory
${access}`,
  },
  'serve-tools': {
    usage: ['pocket-agent serve-tools [options] DIR...'],
    about: `Serves tool folders over MCP on stdin and stdout, or over HTTP. web, github and notes are included.

Options:
${http}      --profile NAME   what clients may call: reader, writer, manager or admin; default: everything
      --default-capability NAME  the capability of tools whose manifest does not declare one; default: delete
      --watch          reload a folder after an edit, between calls; edits that break it are reported on stderr
`,
  },
  gateway: {
    usage: [
      'pocket-agent gateway [options] FILE',
      'pocket-agent gateway token add NAME --profile NAME [options]',
      'pocket-agent gateway token list [--json]',
      'pocket-agent gateway token revoke NAME',
      'pocket-agent gateway login [SERVER] --url URL',
      'pocket-agent gateway logout SERVER --url URL',
      'pocket-agent gateway logins [list [--json] | remove CALLER [SERVER]]',
      'pocket-agent gateway approvals [list [--json] | allow ID [options] | deny ID [REASON]]',
    ],
    about: `Serves all MCP servers, tool folders and remote agents of FILE (JSON with "mcpServers") over MCP on stdin and
stdout, or over HTTP. Over HTTP each client needs a token; token add prints a new one. FILE is read again when it
changes.

Options:
      --http           serve over HTTP instead of stdin and stdout
      --host NAME      the address to listen on; default: 127.0.0.1
      --port NUMBER    default: any free port
      --allow-host NAME    a host name that clients use for the gateway; may be repeated; default: names of this machine
      --allow-origin NAME  a host name of web pages that may call the gateway; may be repeated
      --state DATABASE callers, limits, open questions: a SQLite file, postgres:// or redis:// URL; default:
                       POCKET_AGENT_GATEWAY_STATE, if set, else a file of this user
      --profile NAME   what a caller may do: reader, writer, manager, admin or a profile of FILE
      --expose WORD    direct (default); search: clients see find_tools and call_tool in place of all tools; or
                       code: they see find_tools and run_code, for code that calls the tools
      --confirm WHEN   which calls need approval: never, destructive, write or always; default: as FILE says, else never

Options of token add, besides --profile, --expose and --state:
      --server NAME    a server that the caller may use; may be repeated; * matches any characters; default: all
      --per-minute N   the most calls in a minute
      --per-day N      the most calls on a day (UTC)
      --usd-per-day N  the most US dollars on a day (UTC), by the prices in FILE
      --approver       may answer questions about calls of other callers; without --profile, it can do only this

login is for callers: it logs you in at a server whose entry has "login": true, or without SERVER lists these. logout
makes the gateway forget the login. Both need your token in POCKET_AGENT_GATEWAY_TOKEN, and --url, the address of the
gateway. The gateway keeps logins encrypted with the key in POCKET_AGENT_GATEWAY_LOGIN_KEY.

logins is for the operator of the gateway: it lists the logins of all callers, or removes those of one.

approvals lists and answers calls that wait for a person, if FILE has "approvals": { "endpoint": true }.

Options of approvals allow:
      --arguments JSON     make the call with these arguments instead
      --always         also allow later calls of this tool by this caller
`,
  },
  studio: {
    usage: ['pocket-agent studio [options] [FILE...]'],
    about: `Opens a page on this machine to chat with the agents of agent files (see --agent), or with the agent that the
options describe: it shows each step, call, token and dollar, and asks for approvals. Open the address it prints.

Options:
  -m, --model NAME     use this model instead of those in the files
${sourceWithoutAgent}${access}      --conversations DATABASE  save conversations in this SQLite file or postgres:// URL; default: in memory
      --runs DATABASE  show the durable runs of workers, and answer their questions: a SQLite file or postgres:// URL
      --gateway URL    show the calls of a running gateway, and answer its questions, with the token in
                       POCKET_AGENT_GATEWAY_TOKEN; may be repeated
      --attach URL     show what a worker or bot does, and answer its questions: the address that it printed, with the
                       token at its end or in POCKET_AGENT_STUDIO_TOKEN; may be repeated
      --host NAME      the address to listen on; default: 127.0.0.1, only this machine
      --port NUMBER    default: any free port
`,
  },
  new: {
    usage: ['pocket-agent new [options] NAME'],
    about: `Creates the project ./NAME with an agent, a tool folder, tests, mcp.json, a Dockerfile and a CI file. It runs
without an API key, with the demo model.

Options:
      --template NAME  agent (default): an agent that is served over HTTP, with compose.yaml for PostgreSQL and Redis
                       mcp-server: tools that are served over MCP, on stdin and stdout or over HTTP
                       bot: an agent that answers in Mattermost, with compose.yaml for PostgreSQL
      --tarballs DIR   where the tarballs of Pocket Agent are; default: those of the checkout
`,
  },
  'new-tool': {
    usage: ['pocket-agent new-tool [--dir DIR] NAME'],
    about: `Creates a working tool folder with a test: DIR/NAME.

Options:
      --dir DIR        default: tools
`,
  },
  eval: {
    usage: ['pocket-agent eval [options] FILE'],
    about: `Runs the cases of a YAML file, checks the answers and prints a table: a row for each case, a column for each
variant. Several models, agent files or system prompts are compared side by side. Exit code 1 if a run does not pass.

  agent: ./agent.ts
  cases:
    - prompt: What is 17% of 2380?
      checks: { contains: "404.6", tools: [calculate] }

The agent, here or after --agent, may also be a module: export const agents = { support: () => new PocketAgent({ … }) }

Options:
  -m, --model NAME     the model; may be repeated to compare models; default: the one in FILE or in the agent file
      --system-prompt FILE  a text file with the system prompt; may be repeated to compare prompts
      --case NAME      run only this case; may be repeated
      --repeats N      run every case N times; default: as FILE says, else 1
      --parallel N     runs at the same time; default: 4
      --junit FILE     write the results as JUnit XML
      --json           one JSON object for each run instead of the table
${source}${access}      --yes            approve every call; without it, calls that need approval are refused
`,
  },
  sessions: {
    usage: [
      'pocket-agent sessions [list] [--search TEXT]',
      'pocket-agent sessions show NAME',
      'pocket-agent sessions rename NAME NEW_NAME',
      'pocket-agent sessions delete NAME...',
      'pocket-agent sessions export [--openai] NAME',
    ],
    about: `Lists the saved conversations, newest first: name, number of messages, time of the last save, first message.
--session NAME resumes one. export writes JSON to stdout. What a program saves with openConversations(FILE) is in its
own database: --conversations FILE. Databases in the working folder are named.

Options:
      --conversations DATABASE  those of a program, in this SQLite file or postgres:// URL
      --scope NAME     the scope of the program in that database; default: none
      --search TEXT    list only the conversations that contain TEXT
      --openai         export the messages in OpenAI's format
`,
  },
  memory: {
    usage: ['pocket-agent memory [list]', 'pocket-agent memory erase ID...', 'pocket-agent memory erase --all'],
    about: `Lists what agents remember with --memory, newest first: id, date and text. erase deletes it.

Options:
      --all            erase everything
`,
  },
  callers: {
    usage: [
      'pocket-agent callers [list] [options]',
      'pocket-agent callers show [options] CALLER [CONVERSATION]',
      'pocket-agent callers export [options] CALLER',
      'pocket-agent callers erase [options] CALLER...',
    ],
    about: `For the operator of a served agent: lists the callers in a database of conversations, shows what is saved about one,
and deletes all of it. Callers without a name are listed by a hash of their token. export writes JSON to stdout.

Options:
      --conversations DATABASE  the SQLite file or postgres:// URL; default: POCKET_AGENT_CONVERSATIONS
      --token TOKEN    the caller with this token, instead of CALLER
      --scope NAME     the program whose conversations they are, such as discord; default: served agents
`,
  },
  worker: {
    usage: ['pocket-agent worker [options] MODULE'],
    about: `Advances the durable runs of the agents that a module exports, until it is stopped:
export const agents = { support: () => new PocketAgent({ … }) }
On PostgreSQL any number of workers share the runs, and take over those of a worker that died.

Options:
      --runs DATABASE  a SQLite file or postgres:// URL; default: POCKET_AGENT_RUNS
      --parallel N     runs at the same time; default: 10
      --studio ADDRESS port, or host:port, to which pocket-agent studio --attach connects; the token is in
                       POCKET_AGENT_STUDIO_TOKEN, or a new one is printed
`,
  },
  runs: {
    usage: [
      'pocket-agent runs [list] [options]',
      'pocket-agent runs questions [options]',
      'pocket-agent runs show [options] RUN',
      'pocket-agent runs answer [options] QUESTION ANSWER',
      'pocket-agent runs cancel [options] RUN',
    ],
    about: `Lists durable runs, newest first, and the questions that wait for an answer. ANSWER is allow, deny, or JSON such as
{"deny":"too late"}, {"allow":{"order":18}} or, for a form, {"action":"accept","content":{"day":"Monday"}}.

Options:
      --runs DATABASE  the SQLite file or postgres:// URL; default: POCKET_AGENT_RUNS
      --status STATUS  list only runs that are queued, running, waiting, finished, failed or cancelled
      --json           print JSON lines
`,
  },
  dump: {
    usage: ['pocket-agent dump [--docs-only | --source-only] [FILE]'],
    about: `Writes the documentation and the source of the library to FILE or stdout, as one Markdown document for a model.

Options:
      --docs-only      leave out the source
      --source-only    leave out the documentation
`,
  },
  models: {
    usage: ['pocket-agent models [options] [NAME...]'],
    about: `Lists the model providers: whether the package is installed, which variable has the key, and how to install the
package. For each NAME, a provider (openai) or a model (openai/gpt-5), it lists models: context window, price in USD per
million tokens, and whether they take tools and images. "?" is unknown.

Options:
      --all            the models of all providers that can be used: installed, with a key
      --check          call each named model, once with a tool and once with an image, and report what works
      --json           one JSON object per line
`,
  },
  doctor: {
    usage: ['pocket-agent doctor [options]'],
    about: `Checks Node, API keys (only whether they are set), provider packages, servers, tool folders, the data folder and the
terminal, and says how to fix problems. Exit code 1 if something is broken.

Options:
  -m, --model NAME     the model to check; default: the one that would be used
${source}`,
  },
};

/** True in a checkout, where `npm start` and `npm run studio` start the command from source. */
export const isNpmScript =
  /^(start|studio)$/.test(process.env.npm_lifecycle_event ?? '') && import.meta.url.endsWith('.ts');
/** How to type the command in advice. */
export const program = isNpmScript ? 'npm start --silent --' : 'pocket-agent';

export const commandNames: readonly string[] = Object.keys(helps).filter((name) => name !== 'ask');

export function helpOf(command: string): string {
  return `${usageLines(command)}\n${helps[command]?.about}`;
}

/** The usage lines of a command. */
export function usageOf(command: string): string {
  return `${usageLines(command)}\npocket-agent ${command === 'ask' ? '' : `${command} `}--help prints more.\n`;
}

function usageLines(command: string): string {
  const [first, ...more] = helps[command]?.usage ?? [];
  return `Usage: ${first}\n${more.map((line) => `       ${line}\n`).join('')}`;
}
